import { createHash, verify } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { Signers } from './signers.js';

const organizationId = uuidv7();
const origin = `advocacy-api/${organizationId}`;
const tree = {
  organizationId,
  size: 2,
  root: Buffer.alloc(32, 9),
  position: 7,
  sealedAt: new Date('2026-11-21T08:00:00.000Z'),
};
const [now, before] = [Buffer.alloc(32, 3), Buffer.alloc(32, 4)];
const signers = new Signers([now]);
const note = signers.signCheckpoint(tree);

/** Verifier keys and notes, literally as C2SP signed-note specifies them. */
function isSignedWith(verifierKey: string, signed: string): boolean {
  const [, name = '', id, encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(verifierKey) ?? [];
  const key = Buffer.from(encoded, 'base64');
  const digest = createHash('sha256').update(`${name}\n`).update(key).digest();
  expect([digest.toString('hex', 0, 4), key.length, key[0]]).toEqual([id, 33, 1]);
  const publicKey = {
    key: { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url', 1) },
    format: 'jwk',
  } as const;
  const end = signed.indexOf('\n\n') + 1;
  const lines = signed.slice(end + 1).split('\n');
  return lines.some((line) => {
    const [dash, signer, text = ''] = line.split(' ');
    const bytes = Buffer.from(text, 'base64');
    const isOfKey = dash === '—' && signer === name && bytes.toString('hex', 0, 4) === id;
    return isOfKey && verify(null, Buffer.from(signed.slice(0, end)), publicKey, bytes.subarray(4));
  });
}

it('signs five lines, with the name of the origin and with the general one', () => {
  const lines = note.split('\n');
  expect(lines.slice(0, 6)).toEqual([
    origin,
    '2',
    Buffer.alloc(32, 9).toString('base64'),
    'position 7',
    'sealed 2026-11-21T08:00:00.000Z',
    '',
  ]);
  expect(lines.slice(6).map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    `— ${origin}`,
    '— advocacy-api',
    '',
  ]);
  for (const key of [signers.verifierKey, signers.verifierKeyOf(organizationId)]) {
    expect(isSignedWith(key, note)).toBe(true);
    expect(isSignedWith(key, note.replace('\n2\n', '\n3\n'))).toBe(false);
  }
  expect(isSignedWith(signers.verifierKeyOf(uuidv7()), note)).toBe(false);
  expect(signers.verifierKeyOf(organizationId).startsWith(`${origin}+`)).toBe(true);
});

it('signs with all keys, and gives auditors the first one', () => {
  const both = new Signers([now, before, now]);
  const signed = both.signCheckpoint(tree);
  expect(both.verifierKey).toBe(signers.verifierKey);
  expect(signed.match(/^— /gm)).toHaveLength(4);
  for (const one of [signers, new Signers([before])])
    expect(isSignedWith(one.verifierKey, signed)).toBe(true);
});

it('the previous key signs that the first one has replaced it', () => {
  const { from, to, signature } = new Signers([now, before]).succession(organizationId)!;
  expect([from, to]).toEqual([new Signers([before]).verifierKey, signers.verifierKey]);
  const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
  const line = `— advocacy-api ${Buffer.concat([
    Buffer.from(from.split('+')[1]!, 'hex'),
    Buffer.from(signature, 'base64'),
  ]).toString('base64')}`;
  expect(isSignedWith(from, `${statement}\n${line}\n`)).toBe(true);
  expect(new Signers([now]).succession(organizationId)).toBeUndefined();
});

it('recognizes its own notes, and whether each current key has signed them', () => {
  const both = new Signers([before, now]);
  const other = new Signers([Buffer.alloc(32, 5)]);
  expect(signers.open(note)).toEqual({ ...tree, note, isSignedByAll: true });
  expect(both.open(note)).toMatchObject({ size: 2, isSignedByAll: false });
  expect(signers.open(both.signCheckpoint(tree))).toMatchObject({ isSignedByAll: true });
  expect(other.open(note)).toBeUndefined();
  for (const mark of signers.marks) expect([note.includes(mark), signers.marks]).toEqual([true, [mark]]);
  for (const mark of other.marks) expect(note.includes(mark)).toBe(false);
});

it.each([
  ['without its empty line', (text: string) => text.replace('\n\n', '\n')],
  ['with another size', (text: string) => text.replace('\n2\n', '\n3\n')],
  ['with an additional line', (text: string) => text.replace('\n\n', '\npart 1 2 3 x\n\n')],
  [
    'with a false signature by one of the names',
    (text: string) => text.replace(/.(?=.{9}=\n$)/, (c) => (c === 'A' ? 'B' : 'A')),
  ],
  ['without signatures', (text: string) => text.slice(0, text.indexOf('—'))],
  ['that is truncated', (text: string) => text.slice(0, -1)],
])('does not recognize a note %s as its own', (_, change) => {
  expect(change(note)).not.toBe(note);
  expect(signers.open(change(note))).toBeUndefined();
});

it('distinguishes the notes of others from tampered ones', () => {
  const others = new Signers([before]).signCheckpoint(tree);
  expect(signers.isOfOthers(others)).toBe(true);
  for (const spoiled of [note, note.replace('\n2\n', '\n3\n'), others.slice(1), others.toUpperCase(), '']) {
    expect(signers.isOfOthers(spoiled)).toBe(false);
  }
});

it('ignores the signatures of others', () => {
  const others = new Signers([before]).signCheckpoint(tree).split('\n\n')[1]!;
  expect(signers.open(note + others)).toMatchObject({ size: 2, isSignedByAll: true });
});
