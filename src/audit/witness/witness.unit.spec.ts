import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { Signers } from '#libs/sealing';
import {
  ALGORITHMS,
  cosignedBy,
  keyName,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  verifierKeyOf,
} from '#libs/verify';
import { WitnessState } from './state.js';
import { Witness, WitnessKey } from './witness.js';

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const signers = new Signers([Buffer.alloc(32, 1)]);
const key = WitnessKey.make('witness.example.org/1');
const verifier = parseVerifierKey(key.verifierKey, ALGORITHMS.cosignature);
const NOW = Date.parse('2026-11-22T12:00:00.500Z');

let directory: string;
let witness: Witness;
let organizationId: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'witness-'));
  witness = await start();
  organizationId = uuidv7();
});
afterEach(() => rm(directory, { recursive: true }));

async function start(keys: readonly string[] = [signers.verifierKey]): Promise<Witness> {
  return new Witness(key, await WitnessState.open(directory), keys, () => NOW);
}

/** Trees of one and two leaves; `fork` gives them different leaves. */
const leaf = (n: number, fork = '') => sha256(Buffer.of(0), Buffer.from(`${fork}${n}`));
const one = (fork?: string) => leaf(1, fork);
const two = (fork?: string) => sha256(Buffer.of(1), one(fork), leaf(2, fork));

function note(size: number, root: Buffer, by = signers, claims = {}): string {
  const tree = { organizationId, size, root, position: size, sealedAt: new Date(NOW), ...claims };
  return by.signCheckpoint(tree);
}

const request = (old: number, proof: readonly Buffer[], checkpoint: string) =>
  [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', checkpoint].join('\n');

const add = (old: number, proof: readonly Buffer[], checkpoint: string) =>
  witness.add(request(old, proof, checkpoint));

it('cosigns a checkpoint that extends the last one or equals it, with the time', async () => {
  const first = note(1, one());
  const { status, body } = await add(0, [], first);
  expect(status).toBe(200);
  expect(await cosignedBy(readNote(first + body), verifier)).toEqual({
    witness: expect.stringContaining('witness.example.org/1+'),
    time: new Date('2026-11-22T12:00:00.000Z'),
  });
  expect((await add(1, [], first)).status).toBe(200);
  const second = note(2, two());
  const answer = await add(1, [leaf(2)], second);
  expect(answer.status).toBe(200);
  // It belongs to this checkpoint and no other.
  await expect(cosignedBy(readNote(first + answer.body), verifier)).rejects.toThrow(NotAuthentic);
});

it('returns its own size if a proof starts from another one', async () => {
  await add(0, [], note(2, two()));
  expect(await add(0, [], note(2, two()))).toEqual({ status: 409, type: 'text/x.tlog.size', body: '2\n' });
  expect(await add(1, [leaf(2)], note(2, two()))).toMatchObject({ status: 409, body: '2\n' });
});

it('cosigns no different history of the same size or longer, and no shorter one', async () => {
  await add(0, [], note(1, one()));
  expect(await add(1, [], note(1, one('fork')))).toMatchObject({ status: 409, body: '1\n' });
  expect(await add(1, [leaf(2, 'fork')], note(2, two('fork')))).toMatchObject({ status: 422 });
  expect(await add(1, [], note(2, two()))).toMatchObject({ status: 422 });
  await add(1, [leaf(2)], note(2, two()));
  expect(await add(2, [], note(1, one()))).toMatchObject({ status: 400 });
  expect(await add(2, [leaf(2)], note(2, two()))).toMatchObject({ status: 422 });
});

it.each<[string, number, object]>([
  ['another position of the same tree', 1, { position: 2 }],
  ['another time of the same tree', 1, { sealedAt: new Date(NOW + 1) }],
  ['no later position of a larger tree', 2, { position: 1 }],
  ['an earlier time of a larger tree', 2, { sealedAt: new Date(NOW - 1) }],
])('does not cosign %s, and keeps both checkpoints as evidence', async (_, size, claims) => {
  const first = note(1, one());
  await add(0, [], first);
  const [root, proof] = size === 1 ? [one(), []] : [two(), [leaf(2)]];
  const contradicting = note(size, root, signers, claims);
  expect(await add(1, proof, contradicting)).toMatchObject({
    status: 422,
    body: expect.stringMatching(/^The log contradicts what it has signed before: /),
  });
  // Only the first pair is kept.
  await add(1, [], note(1, one('fork')));
  const files = await readdir(directory);
  const evidence = files.find((name) => name.endsWith('.contradiction'))!;
  expect(await readFile(join(directory, evidence), 'utf8')).toBe(`${first}\n${contradicting}`);
  // An honest continuation is still cosigned.
  expect(await add(1, [leaf(2)], note(2, two()))).toMatchObject({ status: 200 });
});

it('cosigns one of many concurrent checkpoints that contradict each other', async () => {
  const forks = Array.from({ length: 20 }, (_, n) => note(1, one(`fork ${n} `)));
  const answers = await Promise.all(forks.map((fork) => add(0, [], fork)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(409)]);
});

it('remembers despite files left by a crash, and does not treat damaged files as missing', async () => {
  await add(0, [], note(1, one()));
  const [file] = await readdir(directory);
  await writeFile(join(directory, `${file}.draft`), 'half of');
  witness = await start();
  expect(await add(0, [], note(1, one('fork')))).toMatchObject({ status: 409, body: '1\n' });
  expect(await readFile(join(directory, file!), 'utf8')).toBe(note(1, one()));
  await writeFile(join(directory, file!), '');
  await expect(add(0, [], note(1, one('fork')))).rejects.toThrow(/damaged/);
});

it('does not cosign a checkpoint that is dated more than a minute in the future', async () => {
  const at = (ms: number) => ({ sealedAt: new Date(NOW + ms) });
  expect(await add(0, [], note(1, one(), signers, at(60_001)))).toMatchObject({
    status: 400,
    body: expect.stringContaining('dates the checkpoint in the future'),
  });
  expect((await add(0, [], note(1, one(), signers, at(60_000)))).status).toBe(200);
});

it.each([
  ['a position or a time', /\nposition .*\nsealed .*\n/, '\n'],
  ['a position', /position /, 'place '],
  ['a valid time', /sealed .*/, 'sealed yesterday'],
])('does not cosign a checkpoint of an organization without %s', async (_, from, to) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  const own = verifierKeyOf('advocacy-api', Buffer.concat([Buffer.of(1), Buffer.from(x!, 'base64url')]));
  witness = await start([`${keyName(own)}+${Buffer.from(own.bytes).toString('base64')}`]);
  const text = readNote(note(1, one())).text.replace(from, to);
  const signature = Buffer.concat([own.id, sign(null, Buffer.from(text), privateKey)]).toString('base64');
  expect(await add(0, [], `${text}\n— advocacy-api ${signature}\n`)).toMatchObject({
    status: 400,
    body: 'The checkpoint has no valid position and time, which the next one must not contradict.\n',
  });
  expect(await readdir(directory)).toEqual([]);
});

it('cosigns only for known logs, and only if their key has signed', async () => {
  const stranger = new Signers([Buffer.alloc(32, 2)]);
  expect(await add(0, [], note(1, one(), stranger))).toMatchObject({ status: 403 });
  expect(await add(0, [], note(1, one()).replace('position 1', 'position 2'))).toMatchObject({ status: 403 });
  const other = `example.org/log\n${note(1, one()).split('\n').slice(1).join('\n')}`;
  expect(await add(0, [], other)).toMatchObject({ status: 404 });

  witness = await start([signers.verifierKeyOf(organizationId)]);
  expect(await add(0, [], note(1, one()))).toMatchObject({ status: 200 });
  organizationId = uuidv7();
  expect(await add(0, [], note(1, one()))).toMatchObject({ status: 404 });
});

it.each([
  ['nothing', () => ''],
  ['no checkpoint', () => 'old 0\n\n'],
  ['no old size', () => request(0, [], note(1, one())).replace('old 0', 'new 0')],
  ['an invalid old size', () => request(0, [], note(1, one())).replace('old 0', 'old 00')],
  ['an invalid proof', () => request(0, [], note(1, one())).replace('old 0', 'old 0\nAAAA')],
  ['too long a proof', () => request(0, Array<Buffer>(64).fill(one()), note(1, one()))],
  ['a checkpoint of no leaves', () => request(0, [], note(0, one()))],
  ['a checkpoint without a root', () => request(0, [], note(1, one())).replace(/\n.{43}=\n/, '\nroot\n')],
  ['a checkpoint without its end', () => request(0, [], note(1, one())).trimEnd()],
])('rejects %s with 400', async (_, body) => {
  expect(await witness.add(body())).toMatchObject({ status: 400, body: expect.stringMatching(/\.\n$/) });
  expect(await readdir(directory)).toEqual([]);
});

it('reads its key as it was written, and no other', () => {
  expect(WitnessKey.read(key.text).verifierKey).toBe(key.verifierKey);
  expect(() => WitnessKey.read(key.text.replace('witness', 'another'))).toThrow(NotAuthentic);
  expect(() => WitnessKey.read(key.verifierKey)).toThrow(NotAuthentic);
  expect(() => WitnessKey.make('two words')).toThrow(NotAuthentic);
});
