import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { eventDigest, type JsonObject } from '#libs/event-store';
import { canonical, statement, type Verdict, verifyExport } from '#libs/verify';
import { verifyTwice } from '../../../test/verifiers.js';
import { WitnessKey } from '../witness/witness.js';
import { isLong, longIt, someOf } from '../../../test/length.js';

const organizationId = uuidv7();
const origin = `advocacy-api/${organizationId}`;
const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** Signs as specified by C2SP signed-note. */
class Signer {
  private readonly privateKey;
  readonly verifierKey: string;
  private readonly id: Buffer;

  constructor(
    seed: number,
    private readonly name: string,
  ) {
    const der = Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      Buffer.alloc(32, seed),
    ]);
    this.privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const { x } = createPublicKey(this.privateKey).export({ format: 'jwk' });
    const bytes = Buffer.concat([Buffer.of(1), Buffer.from(x!, 'base64url')]);
    this.id = sha256(Buffer.from(`${name}\n`), bytes).subarray(0, 4);
    this.verifierKey = `${name}+${this.id.toString('hex')}+${bytes.toString('base64')}`;
  }

  /** A signature line for the text, or for the text `others`. */
  line(text: string): string {
    return `— ${this.name} ${Buffer.concat([this.id, this.sign(text)]).toString('base64')}\n`;
  }

  sign(text: string): Buffer {
    return sign(null, Buffer.from(text), this.privateKey);
  }
}

const signer = new Signer(5, 'advocacy-api');
const ownSigner = new Signer(5, origin);
const key = signer.verifierKey;
const signed = (text: string, ...signers: Signer[]) =>
  `${text}\n${signers.map((one) => one.line(text)).join('')}`;

type Line = {
  position: number;
  previousPosition: number;
  data: JsonObject;
  metadata: JsonObject;
  version: number;
  recordedAt: string;
  encryptedPersonal: string | null;
  [field: string]: any;
};

const FIRST = 10;
const STEP = 3;
const positionOf = (index: number) => FIRST + STEP * index;

/** Events with gaps between their positions, which other organizations' events would fill. */
function fabricate(count: number, data: JsonObject = { comment: 'The river' }): Line[] {
  return linked(
    Array.from({ length: count }, (_, index) => {
      const streamId = uuidv7();
      return {
        position: positionOf(index),
        previousPosition: 0,
        organizationId,
        streamType: 'thing',
        streamId,
        version: 1,
        eventId: uuidv7(),
        type: 'Happened',
        schema: 1,
        data,
        personal: index % 2 ? { email: 'ada@example.org' } : null,
        encryptedPersonal: index % 2 ? Buffer.from(`cipher ${index}`).toString('base64') : null,
        subjectId: index % 2 ? streamId : null,
        metadata: { actor: { id: 'a', type: 'api-key' }, requestId: 'r' },
        recordedAt: new Date(1_700_000_000_000 + index).toISOString(),
      };
    }),
  );
}

/** As a careful forger would leave them: correct digests, and each line follows the previous one. */
function linked(lines: Line[]): Line[] {
  return lines.map((line, index) => ({
    ...line,
    previousPosition: lines[index - 1]?.position ?? 0,
    digest: digestOf(line),
  }));
}

function digestOf(line: Line): string {
  const personal = line.encryptedPersonal === null ? null : Buffer.from(line.encryptedPersonal, 'base64');
  const { streamType, streamId, version, eventId, type, schema, data, subjectId, metadata } = line;
  const own = { streamType, streamId, version, eventId, type, schema, data, subjectId, metadata };
  const event = { ...own, organizationId: line.organizationId, personal };
  return eventDigest(event, new Date(line.recordedAt)).toString('hex');
}

function rootOf(lines: readonly Line[]): Buffer {
  if (lines.length === 0) return sha256();
  if (lines.length > 1) {
    const half = 2 ** (Math.ceil(Math.log2(lines.length)) - 1);
    return sha256(Buffer.of(1), rootOf(lines.slice(0, half)), rootOf(lines.slice(half)));
  }
  const position = Buffer.alloc(8);
  position.writeBigInt64BE(BigInt(lines[0]!.position));
  return sha256(Buffer.of(0), position, Buffer.from(lines[0]!.digest, 'hex'));
}

/** The first line of a checkpoint, and the next ones that all its forms share. */
function textOf(lines: readonly Line[], position = lines.at(-1)?.position ?? 0): string {
  const root = rootOf(lines).toString('base64');
  return `${origin}\n${lines.length}\n${root}\nposition ${position}\nsealed 2026-11-20T09:30:00.000Z\n`;
}

/** Complete subtrees of 65,536 leaves, then of 256, then smaller ones. */
function partsOf(lines: readonly Line[], ...smaller: number[]): string {
  const parts = [];
  let start = 0;
  for (const leaves of [65_536, 256, ...smaller]) {
    for (; start + leaves <= lines.length; start += leaves) {
      const part = lines.slice(start, start + leaves);
      parts.push(
        `${part[0]!.position} ${part.at(-1)!.position} ${leaves} ${rootOf(part).toString('base64')}\n`,
      );
    }
  }
  return parts.join('');
}

const POWERS = [128, 64, 32, 16, 8, 4, 2, 1];
const allPartsOf = (lines: readonly Line[]) => partsOf(lines, ...POWERS);

/** As versions up to 0.3.0 created it. */
function checkpointOf(lines: readonly Line[], position?: number): string {
  return signed(
    textOf(lines, position) +
      partsOf(lines)
        .replace(/^/gm, 'part ')
        .replace(/part $/, ''),
    signer,
  );
}

const ndjson = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const rest = { ok: false, reason: expect.any(String) };

/** 344 events: a part of 256, and 88 outside any part. */
const history = fabricate(344);
const checkpoint = checkpointOf(history);
/** 40 events in parts of 32 and 8, for tests that need no part of 256. */
const few = fabricate(40);
const checkpointOfFew = checkpointOf(few);
const changedAt = (index: number, change: (line: Line) => object, lines = history) =>
  lines.map((line, n) => (n === index ? { ...line, ...change(line) } : line));

describe('a replaced key', () => {
  const [second, third] = [6, 7].map((seed) => new Signer(seed, 'advocacy-api')) as [Signer, Signer];
  const nameOf = ({ verifierKey }: Signer) => verifierKey.split('+', 2).join('+');

  function succession(from: Signer, to: Signer, by = from, of = organizationId): JsonObject {
    return spelled(from.verifierKey, to.verifierKey, by, of);
  }

  function spelled(from: string, to: string, by: Signer, of = organizationId): JsonObject {
    const statement = `advocacy-api signing key\n${of}\n${from}\n${to}\n`;
    return { from, to, signature: by.sign(statement).toString('base64') };
  }

  /** A history with the key changes, and a checkpoint signed only by the third key, including under its own name. */
  function telling(...successions: JsonObject[]): [history: string, checkpoint: string] {
    const lines = fabricate(successions.length + 2).map((line, n) => {
      const data = successions[n - 1];
      const told = { streamType: 'signing-key', type: 'SigningKeyRotated', data: data! };
      return data ? { ...line, ...told, personal: null, encryptedPersonal: null, subjectId: null } : line;
    });
    return [ndjson(linked(lines)), signed(textOf(linked(lines)), third, new Signer(7, origin))];
  }

  it('leads to the key that has signed the checkpoint, whichever it is', async () => {
    const told = telling(succession(signer, second), succession(second, third));
    for (const [given, signedWith, name] of [
      [signer, third, nameOf(signer)],
      [ownSigner, new Signer(7, origin), nameOf(ownSigner)],
      [second, third, nameOf(second)],
      [third, third, undefined],
    ] as const) {
      const { ok, checkpoint, provedEvents } = await verifyTwice(...told, given.verifierKey);
      expect([ok, provedEvents, checkpoint?.key, checkpoint?.givenKey]).toEqual([
        true,
        4,
        nameOf(signedWith),
        name,
      ]);
    }
    // And back to an earlier one.
    const back = telling(succession(third, second), succession(second, third));
    expect(await verifyTwice(...back, second.verifierKey)).toMatchObject({ ok: true });
  });

  it.each([
    [
      'a rotation that it has not signed',
      [succession(signer, third, third)],
      /position 13 .* has not signed this/,
    ],
    [
      'a rotation that the key in between has not signed',
      [succession(signer, second), succession(second, third, signer)],
      /position 16 .* has not signed this/,
    ],
    [
      'a rotation that it signed for another organization',
      [succession(signer, third, signer, uuidv7())],
      /position 13 .* has not signed this/,
    ],
    ['an invalid signature', [{ ...succession(signer, third), signature: '?' }], /has not signed this/],
    [
      'a missing rotation in between',
      [succession(second, third)],
      /not signed with the key advocacy-api\+\w+\./,
    ],
    [
      'rotations to a key other than the signer',
      [succession(signer, second)],
      /not signed with the key \S+ or its successor \S+\. Use/,
    ],
    [
      'white space after the previous key',
      [spelled(`${signer.verifierKey}\n`, third.verifierKey, signer)],
      /not signed with the key/,
    ],
    [
      'white space after the next key',
      [spelled(signer.verifierKey, `${third.verifierKey} `, signer)],
      /white space around it/,
    ],
    ['an invalid rotation', [{ from: 7, to: null }, { from: 'rubbish' }], /not signed with the key/],
  ])('proves nothing with %s', async (_, successions, reason) => {
    expect(await verifyTwice(...telling(...successions), key)).toMatchObject({
      ok: false,
      checkpoint: null,
      reason: expect.stringMatching(reason),
    });
    // If you have the key itself, none of this is needed.
    expect(await verifyTwice(...telling(...successions), third.verifierKey)).toMatchObject({ ok: true });
  });
});

describe('a history that matches its seal', () => {
  it.each(someOf([1, 2, 3, 256, 257, 255, 600], 5))('is proved, %i events', async (size) => {
    const lines = fabricate(size);
    expect(await verifyTwice(ndjson(lines), checkpointOf(lines), key)).toMatchObject({
      ok: true,
      events: size,
      provedEvents: size,
      firstWrongPosition: null,
      reason: null,
      warningCount: 0,
    });
  });

  // This takes half a minute. Parts of 256 are tested below.
  if (isLong)
    it('is proved in parts of 65,536 events, and a difference after them is located', async () => {
      const lines = fabricate(65_536 + 256 + 3);
      // The table of streams has grown before this stream continues.
      lines[65_700] = { ...lines[65_700]!, streamId: lines[3]!.streamId, version: 2 };
      const large = checkpointOf(linked(lines));
      lines[65_540] = { ...lines[65_540]!, type: 'Other' };
      expect(await verifyTwice(ndjson(linked(lines)), large, key)).toMatchObject({
        ok: false,
        events: 65_792,
        provedEvents: 65_536,
        firstWrongPosition: positionOf(65_536),
      });
    });

  it('is proved whatever numbers, names and texts its data contain', async () => {
    const data = JSON.parse(
      '{"n":[1e21,1e-7,0.1,5e-324,9007199254740993,1.50,1E2,1.7976931348623157e308],"10":1,"9":2,' +
        '"\\ufb33":1,"\\ud83d\\ude00":2,"__proto__":{"z":1,"a":2},"":null,"text":"\\u2028 \\" \\\\ : \\u0007 €"}',
    ) as JsonObject;
    const lines = fabricate(4, data);
    lines[1]!.type = 'What is "said"\n';
    lines[3]!.personal = data;
    const note = checkpointOf(linked(lines));
    const before = ndjson(linked(lines));
    // As written now, and as versions up to 0.3.0 wrote it: ECMAScript puts numeric names first.
    const now = before.replaceAll(JSON.stringify(data), canonical(data));
    expect(now).not.toBe(before);
    for (const text of [now, before, now.replace(canonical(data), JSON.stringify(data))]) {
      expect(await verifyTwice(text, note, key)).toMatchObject({ ok: true });
    }
  });

  it('may continue after the checkpoint: newer events are checked but not proved', async () => {
    const older = checkpointOf(history.slice(0, 300));
    expect(await verifyTwice(ndjson(history), older, key)).toMatchObject({
      ok: true,
      events: 344,
      provedEvents: 300,
    });
    const changed = changedAt(320, () => ({ type: 'Other' }));
    expect(await verifyTwice(ndjson(changed), older, key)).toMatchObject({
      ok: false,
      provedEvents: 300,
      firstWrongPosition: positionOf(320),
    });
  });
});

describe('a line that is invalid in itself', () => {
  it.each([
    ['data', () => ({ data: { comment: 'The rivers' } })],
    ['ciphertext', () => ({ encryptedPersonal: 'Y2lwaGVyIDMwMA==' })],
    ['time', () => ({ recordedAt: '2023-11-14T22:13:20.302Z' })],
    ['spelling of the time', (line: Line) => ({ recordedAt: line.recordedAt.replace('Z', '+00:00') })],
    ['actor', () => ({ metadata: { actor: { type: 'api-key', id: 'b' }, requestId: 'r' } })],
    ['subject', () => ({ subjectId: null })],
    [
      'the digest',
      (line: Line) => ({ digest: line.digest.replace(/^./, (c: string) => (c === '0' ? '1' : '0')) }),
    ],
    ['organization', () => ({ organizationId: uuidv7() })],
  ] as [string, (line: Line) => object][])('is reported if its %s was changed', async (_, change) => {
    expect(await verifyTwice(ndjson(changedAt(37, change, few)), checkpointOfFew, key)).toMatchObject({
      ...rest,
      events: 38,
      provedEvents: 0,
      firstWrongPosition: positionOf(37),
    });
  });

  it('is named if it contains other personal data than its digest covers', async () => {
    const salted = { $salt: 'c2FsdA==', email: 'ada@example.org' };
    const personalDigest = sha256(Buffer.from(JSON.stringify(salted))).toString('hex');
    const covered = linked(
      changedAt(
        36,
        (line) => ({
          personal: salted,
          encryptedPersonal: 'Y2lwaGVy',
          subjectId: line.streamId,
          metadata: { ...line.metadata, personalDigest },
        }),
        few,
      ),
    );
    const checkpoint = checkpointOf(covered);
    const unprovedPersonal = few.filter((line) => line.personal !== null).length;
    expect(await verifyTwice(ndjson(covered), checkpoint, key)).toMatchObject({ ok: true, unprovedPersonal });
    for (const personal of [{ ...salted, email: 'eve@example.org' }, { email: 'ada@example.org' }, {}]) {
      const forged = changedAt(36, () => ({ personal }), covered);
      expect(await verifyTwice(ndjson(forged), checkpoint, key)).toMatchObject({
        ...{ ok: false, firstWrongPosition: positionOf(36) },
        reason: expect.stringContaining('does not match its personalDigest'),
      });
    }
  });

  it('is named if it contains personal data that was never stored', async () => {
    const forged = changedAt(36, () => ({ personal: { email: 'eve@example.org' } }), few);
    expect(await verifyTwice(ndjson(forged), checkpointOfFew, key)).toMatchObject({
      ok: false,
      firstWrongPosition: positionOf(36),
    });
  });

  it.each([
    ['is empty', () => ''],
    ['is cut off', (line: string) => line.slice(0, -1)],
    ['is a list', () => '[]'],
    ['is null', () => 'null'],
    ['is not UTF-8', (line: string) => line.replace('river', '\xff\xfe')],
    ['begins with a byte order mark', (line: string) => `\xef\xbb\xbf${line}`],
    ['lacks a field', (line: string) => line.replace('"schema":1,', '')],
    ['has a field that nothing vouches for', (line: string) => line.replace('{', '{"note":"paid",')],
    ['has a member twice', (line: string) => line.replace('"data":{', '"data":{"comment":"Another",')],
    ['has a position that is a text', (line: string) => line.replace(/"position":(\d+)/, '"position":"$1"')],
    [
      'has no previous position',
      (line: string) => line.replace(/"previousPosition":\d+/, '"previousPosition":1.5'),
    ],
    ['is nested without end', (line: string) => line.replace(/"data":/, `"data":${'['.repeat(100_000)}`)],
    ['is nested deeply', (line: string) => line.replace('"The river"', '['.repeat(2e5) + ']'.repeat(2e5))],
    ['has a number that is a text', (line: string) => line.replace('"version":1', '"version":"1"')],
    ['has the version 0', (line: string) => line.replace('"version":1', '"version":0')],
    ['has a stream that is no UUID', (line: string) => line.replace(/"streamId":"..../, '"streamId":"self')],
    ['has data that are a list', (line: string) => line.replace(/"data":{.*?}/, '"data":[]')],
    ['has the line ending of Windows', (line: string) => `${line}\r`],
    ['begins with white space', (line: string) => ` ${line}`],
    ['has white space between its members', (line: string) => line.replace(',', ', ')],
    ['has white space in its data', (line: string) => line.replace('"data":{', '"data":{ ')],
    ['writes a number differently', (line: string) => line.replace('"version":1', '"version":1.0')],
    ['writes a large number differently', (line: string) => line.replace('"schema":1', '"schema":1e0')],
    ['writes a number in its data differently', (line: string) => line.replace('"The river"', '-0')],
    ['writes a text differently', (line: string) => line.replace('The river', 'The\\u0020river')],
    ['escapes what needs no escape', (line: string) => line.replace('"thing"', '"\\u0074hing"')],
    ['has its members in another order', (line: string) => line.replace(/("version":1),(.*?),/, '$2,$1,')],
    [
      'names a different organization',
      (line: string) => line.replace('"organizationId"', '"organization\\u0049d"'),
    ],
  ] as [string, (line: string) => string][])(
    'is named together with the previous line if it %s',
    async (_, change) => {
      const lines = ndjson(few).trimEnd().split('\n');
      lines[5] = change(lines[5]!);
      expect(
        await verifyTwice(Buffer.from(`${lines.join('\n')}\n`, 'latin1'), checkpointOfFew, key),
      ).toMatchObject({
        ...rest,
        events: 6,
        provedEvents: 0,
        firstWrongPosition: positionOf(4) + 1,
      });
    },
  );

  it('cannot write to the terminal of the reader', async () => {
    const lines = ndjson(few).replace('"schema":1', '"\\u001b[2JThis file matches\\u202e":1,"schema":1');
    const { reason } = await verifyTwice(lines, checkpointOfFew, key);
    expect(reason).toContain('has "\\u{1b}[2JThis file matches\\u{202e}", which is not a member');
  });

  it('does not fill the memory if it never ends', async () => {
    let pieces = 0;
    async function* endless() {
      while ((pieces += 1)) yield await Promise.resolve(Buffer.alloc(1024 * 1024, 'x'));
    }
    expect(await verifyExport(endless(), checkpoint, key)).toMatchObject({
      ok: false,
      firstWrongPosition: 1,
    });
    expect(pieces).toBeLessThan(20);
  });
});

describe('events of one stream, or about one person', () => {
  const [streamId, personId] = [uuidv7(), uuidv7()];
  type Versions = { [index: number]: number };
  const COUNT = 60;
  /** These events, with different content at these indexes. */
  const withEvents = (changes: { [index: number]: Partial<Line> }, count = COUNT) =>
    linked(fabricate(count).map((line, index) => ({ ...line, ...changes[index] })));
  const verified = (lines: Line[]) => verifyTwice(ndjson(lines), checkpointOf(lines), key);

  it.each([
    ['a version is missing', 30, { 10: 1, 30: 3 }],
    ['the first is missing', 10, { 10: 2 }],
    ['one occurs twice', 30, { 10: 1, 30: 1 }],
    ['they go back', 40, { 10: 1, 30: 2, 40: 1 }],
    ['a newer event has none', 55, { 10: 1, 55: 7 }],
  ] as [string, number, Versions][])('are named if %s', async (_, wrong, versions) => {
    const lines = withEvents(
      Object.fromEntries(Object.entries(versions).map(([index, version]) => [index, { streamId, version }])),
    );
    const note = checkpointOf(lines.slice(0, 50));
    expect(await verifyTwice(ndjson(lines), note, key)).toMatchObject({
      ...{ ok: false, firstWrongPosition: positionOf(wrong), events: wrong + 1 },
      provedEvents: wrong > 50 ? 50 : 0,
      reason: expect.stringContaining(`The event at position ${positionOf(wrong)} has version`),
    });
  });

  it('are proved with a warning where times go back, which versions before 0.3.0 allowed', async () => {
    const recordedAt = '2023-11-14T22:13:19.000Z';
    const lines = withEvents(
      Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [
          2 * n,
          { streamId, version: n + 1, ...(n % 2 ? { recordedAt } : {}) },
        ]),
      ),
      2 * 60,
    );
    const verdict = await verified(lines);
    expect(verdict).toMatchObject({ ok: true, provedEvents: 120, warningCount: 30 });
    expect(verdict.warnings).toHaveLength(20);
    expect(verdict.warnings.slice(0, 2)).toEqual([
      {
        position: positionOf(2),
        reason: expect.stringContaining('was recorded before version 1 of its stream'),
      },
      { position: positionOf(6), reason: expect.any(String) },
    ]);
  });

  it('are proved with a warning if they were backdated, or dated after their checkpoint was sealed', async () => {
    const recordedAt = (time: string) => ({ recordedAt: time });
    // Backdated by 90 days, by exactly the tolerance, and a minute and a millisecond after the note was sealed.
    const lines = withEvents(
      {
        0: recordedAt('2026-11-20T09:20:00.000Z'),
        1: recordedAt('2026-08-22T09:20:00.000Z'),
        2: recordedAt('2026-11-20T09:19:00.000Z'),
        3: recordedAt('2026-11-20T09:31:00.000Z'),
        4: recordedAt('2026-11-20T09:31:00.001Z'),
      },
      5,
    );
    expect(await verified(lines)).toMatchObject({
      ...{ ok: true, provedEvents: 5, warningCount: 2 },
      warnings: [
        { position: positionOf(1), reason: expect.stringContaining('before an event with a lower position') },
        { position: positionOf(4), reason: expect.stringContaining('after the checkpoint that contains it') },
      ],
    });
  });

  const unread = { personal: null, encryptedPersonal: 'Y2lwaGVy', subjectId: personId };
  const erased = {
    streamId: personId,
    version: 2,
    type: 'ContactErased',
    encryptedPersonal: null,
    personal: null,
  };
  const person = { ...unread, streamId: personId };

  it('are proved if data cannot be read because its person was erased at any time', async () => {
    const lines = withEvents({ 10: person, 20: unread, 50: erased });
    expect(await verified(lines)).toMatchObject({ ok: true, warningCount: 0 });
    const older = checkpointOf(lines.slice(0, 30));
    expect(await verifyTwice(ndjson(lines), older, key)).toMatchObject({ ok: true, newerEvents: 30 });
  });

  it.each(['ApiKeyRotated', 'ApiKeyRevoked'])('are proved if an API key ended: %s', async (type) => {
    const lines = withEvents({ 10: person, 20: { ...erased, type } });
    expect(await verified(lines)).toMatchObject({ ok: true });
  });

  const other = { ...person, streamId: uuidv7() };
  const nobody = { ...erased, version: 1, streamId: uuidv7() };
  const updated = { ...erased, type: 'ContactUpdated' };
  it.each([
    ['no one was erased', { 10: person, 20: unread }, 10],
    ['another person was erased', { 10: other, 20: nobody }, 10],
    ['their record ended in another way', { 10: person, 20: updated }, 10],
    ['it is about no one', { 30: { ...unread, subjectId: null } }, 30],
    ['it is the later one of two', { 10: person, 15: { ...unread, subjectId: uuidv7() }, 20: erased }, 15],
  ] as [string, { [index: number]: Partial<Line> }, number][])(
    'are named if data cannot be read although %s',
    async (_, changes, wrong) => {
      const lines = withEvents(changes);
      expect(await verified(lines)).toMatchObject({
        ...{ ok: false, events: COUNT, provedEvents: COUNT, firstWrongPosition: positionOf(wrong) },
        reason: expect.stringContaining('cannot be read, although no event erased it'),
      });
    },
  );
});

describe('lines that do not follow each other', () => {
  const without = (first: number, count = 1) => few.filter((_, n) => n < first || n >= first + count);
  it.each([
    ['a line is missing', without(20), positionOf(20)],
    ['lines are missing: the last of them', without(20, 5), positionOf(24)],
    ['the first line is missing', without(0), positionOf(0)],
    ['a line is there twice', [...few.slice(0, 21), ...few.slice(20)], positionOf(20)],
    ['two lines are swapped', few.map((_, n) => few[n === 20 ? 21 : n === 21 ? 20 : n]!), positionOf(20)],
    [
      'a line was inserted',
      [
        ...few.slice(0, 21),
        { ...few[20]!, previousPosition: positionOf(20), position: positionOf(20) + 1 },
        ...few.slice(21),
      ],
      positionOf(20) + 1,
    ],
    [
      'a position was changed',
      changedAt(20, ({ position }) => ({ position: position + 1 }), few),
      positionOf(20),
    ],
    ['positions go back', changedAt(20, () => ({ position: 1 }), few), positionOf(19) + 1],
  ] as [string, Line[], number][])('are named if %s', async (_, lines, firstWrongPosition) => {
    expect(await verifyTwice(ndjson(lines), checkpointOfFew, key)).toMatchObject({
      ok: false,
      firstWrongPosition,
    });
  });
});

describe('a history rewritten with correct digests', () => {
  /** Two parts of 256, and 88 events outside any part. */
  const history = fabricate(600);
  const checkpoint = checkpointOf(history);
  const rewritten = (index: number) => linked(changedAt(index, () => ({ type: 'Other' }), history));

  it('is located by the part that differs', async () => {
    for (const [index, part] of someOf(
      [
        [255, 0],
        [256, 256],
        [0, 0],
        [511, 256],
      ] as const,
      2,
    )) {
      expect(await verifyTwice(ndjson(rewritten(index)), checkpoint, key)).toMatchObject({
        ok: false,
        events: part + 256,
        provedEvents: part,
        firstWrongPosition: positionOf(part),
        reason: expect.stringContaining(
          `between positions ${positionOf(part)} and ${positionOf(part + 255)}`,
        ),
      });
    }
  });

  it('is located after the last part', async () => {
    expect(await verifyTwice(ndjson(rewritten(599)), checkpoint, key)).toMatchObject({
      ok: false,
      events: 600,
      provedEvents: 512,
      firstWrongPosition: positionOf(512),
      reason: expect.stringContaining(`between position ${positionOf(511)} and position ${positionOf(599)}`),
    });
  });

  it('is located if an event was removed or inserted', async () => {
    const taken = linked(history.filter((_, n) => n !== 300));
    const [before, after] = [history.slice(0, 301), history.slice(301)];
    const more = { ...history[300]!, position: positionOf(300) + 1, streamId: uuidv7() };
    const given = linked([...before, more, ...after]);
    for (const lines of someOf([given, taken])) {
      const verdict = await verifyTwice(ndjson(lines), checkpoint, key);
      expect(verdict).toMatchObject({ ok: false, provedEvents: 256, firstWrongPosition: positionOf(256) });
    }
    // After the parts, only the number of events reveals it. The newest event exists, so another one is missing.
    const short = linked(history.filter((_, n) => n !== 550));
    expect(await verifyTwice(ndjson(short), checkpoint, key)).toMatchObject({
      ok: false,
      provedEvents: 512,
      firstWrongPosition: positionOf(512),
      reason: expect.stringMatching(/^1 of the 600 events .* is missing/),
    });
  });

  it('is reported if its newest events are missing, even if newer ones were added', async () => {
    const missing = { ok: false, provedEvents: 512, firstWrongPosition: positionOf(596) + 1 };
    const kept = history.slice(0, 597);
    const newer = { ...history[599]!, position: positionOf(700) };
    for (const lines of someOf([linked([...kept, newer]), kept])) {
      expect(await verifyTwice(ndjson(lines), checkpoint, key)).toMatchObject({
        ...missing,
        reason: expect.stringMatching(/^3 of the 600 events .* are missing/),
      });
    }
    expect(await verifyTwice('', checkpoint, key)).toMatchObject({
      ok: false,
      events: 0,
      firstWrongPosition: 1,
    });
  });

  it('is reported if an event was inserted after the last one, but before the checkpoint', async () => {
    const late = checkpointOf(history.slice(0, 300), positionOf(300) - 1);
    expect(await verifyTwice(ndjson(history), late, key)).toMatchObject({ ok: true, provedEvents: 300 });
    const given = linked([
      ...history.slice(0, 300),
      { ...history[299]!, position: positionOf(299) + 1 },
      ...history.slice(300),
    ]);
    expect(await verifyTwice(ndjson(given), late, key)).toMatchObject({
      ok: false,
      provedEvents: 300,
      firstWrongPosition: positionOf(299) + 1,
    });
  });
});

describe('a checkpoint or a key that proves nothing', () => {
  const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  /** The last character before one "=" has two unused bits, so the next character encodes the same bytes. */
  const nextCharacter = (character: string) => BASE64[BASE64.indexOf(character) + 1]!;
  const [name, id, encoded] = key.split('+') as [string, string, string];
  const other = new Signer(6, 'advocacy-api').verifierKey;
  it.each([
    ['another key', checkpoint, other],
    ['a key of another id', checkpoint, `${name}+00000000+${encoded}`],
    ['a key of another name', checkpoint, `other+${id}+${encoded}`],
    ['half a key', checkpoint, key.slice(0, -8)],
    ['no key', checkpoint, 'key'],
    ['another size', checkpoint.replace('\n344\n', '\n343\n'), key],
    ['a part left out', checkpoint.replace(/part .*\n/, ''), key],
    ['no signature', checkpoint.slice(0, checkpoint.indexOf('—')), key],
    ['a changed signature', checkpoint.replace(/.(?=.{9}=\n$)/, (c) => (c === 'A' ? 'B' : 'A')), key],
    [
      'a signature with a bit that its bytes do not have',
      checkpoint.replace(/.(?==\n$)/, nextCharacter),
      key,
    ],
    ['no text', '', key],
  ])('is rejected: %s', async (_, note, verifierKey) => {
    expect(await verifyTwice(ndjson(history), note, verifierKey)).toMatchObject({
      ...rest,
      events: 0,
      provedEvents: 0,
      firstWrongPosition: null,
    });
  });

  it.each([
    ['1 2 1024', 'more leaves than there are'],
    ['1 2 100', 'leaves that make no subtree'],
    ['1 2 1', 'a subtree that begins in the middle of another', '3 300 256'],
  ])('is rejected if it contradicts itself, although it is signed: %s, %s', async (...[part, , other]) => {
    const hash = rootOf([]).toString('base64');
    const parts = [part, other].map((one) => (one ? `part ${one} ${hash}\n` : '')).join('');
    const note = signed(textOf(history) + parts, signer);
    expect(await verifyTwice('', note, key)).toMatchObject({
      ...{ ok: false, events: 0, provedEvents: 0, firstWrongPosition: null },
      reason: 'This is not a checkpoint: its parts are not complete subtrees of the tree.',
    });
  });

  it('is accepted next to the signatures of others', async () => {
    const witnessed = `${checkpointOfFew}— witness.example/w ${Buffer.alloc(68, 1).toString('base64')}\n`;
    expect(await verifyTwice(ndjson(few), witnessed, key)).toMatchObject({ ok: true });
  });
});

describe('a checkpoint that witnesses have cosigned', () => {
  const history = fabricate(3);
  const [text, other] = [textOf(history), textOf(fabricate(3))];
  const [one, two, three] = ['one', 'two', 'three'].map((name) => WitnessKey.make(`w.example.org/${name}`));
  const keys = [one!, two!, three!].map(({ verifierKey }) => verifierKey);
  const note = `${signed(text, signer)}${one!.cosign(text, 1_700_000_000)}${two!.cosign(text, 1_700_000_100)}`;
  const verdictOn = (checkpoint: string, witnesses: string[], quorum?: number) =>
    verifyExport(chunksOf(ndjson(history)), checkpoint, key, { witnesses, quorum });

  it('is accepted with the required number of cosignatures, and the verdict names them', async () => {
    for (const quorum of [1, 2]) {
      const { ok, checkpoint } = await verdictOn(note, keys, quorum);
      expect({ ok, witnesses: checkpoint!.witnesses }).toEqual({
        ok: true,
        witnesses: [
          { witness: expect.stringMatching(/^w\.example\.org\/one\+/), time: new Date(1_700_000_000_000) },
          { witness: expect.stringMatching(/^w\.example\.org\/two\+/), time: new Date(1_700_000_100_000) },
        ],
      });
    }
    expect(await verdictOn(note, keys.slice(0, 2))).toMatchObject({ ok: true });
    expect((await verdictOn(note, [])).checkpoint).not.toHaveProperty('witnesses');
  });

  it('is not said to differ from the file if only the register does not cover it', async () => {
    const verdict = await verdictOn(note, keys.slice(0, 2));
    const reason = 'The register does not cover the checkpoint.';
    expect(statement({ ...verdict, ok: false, code: 'register', reason })).toMatch(
      /^This file could not be verified against the checkpoint of 3 events of organization \S+: The register does not cover/,
    );
  });

  it.each<[string, () => Promise<Verdict>]>([
    ['is missing', () => verdictOn(note, keys)],
    ['is counted twice', () => verdictOn(note, [keys[0]!, `${keys[0]}\n`], 2)],
    ['is of another checkpoint', () => verdictOn(note + three!.cosign(other, 1), keys, 2)],
    [
      'is not a cosignature',
      () =>
        verdictOn(
          note.replace(/(— \S+two .{20})(.)/, (_, kept, changed) => kept + (changed === 'A' ? 'B' : 'A')),
          keys,
          1,
        ),
    ],
    ['has another key of the same name', () => verdictOn(note, [WitnessKey.make(one!.name).verifierKey])],
    ['is the key of a server', () => verdictOn(note, [key])],
  ])('is rejected if one %s', async (_, verdict) => {
    expect(await verdict()).toMatchObject({
      ok: false,
      checkpoint: null,
      reason: expect.stringMatching(/ness/),
    });
  });
});

describe('a checkpoint of five lines', () => {
  const text = textOf(few);
  const parts = allPartsOf(few);
  const note = signed(text, ownSigner, signer);

  it('is verified by the key of either name, with and without the parts next to it', async () => {
    for (const verifierKey of [key, ownSigner.verifierKey]) {
      for (const given of [undefined, parts]) {
        expect(await verifyTwice(ndjson(few), note, verifierKey, given)).toMatchObject({
          ...{ ok: true, provedEvents: 40, warningCount: 0 },
        });
      }
    }
    expect(await verifyTwice('', signed(textOf([]), ownSigner), ownSigner.verifierKey, '')).toMatchObject({
      ...{ ok: true, events: 0, warningCount: 0 },
    });
  });

  it('locates a rewritten history by its parts, or without them between its first and last event', async () => {
    const note = signed(textOf(history), ownSigner, signer);
    const parts = allPartsOf(history);
    for (const [index, part] of someOf(
      [
        [255, 0],
        [343, 336],
        [314, 256],
        [320, 320],
      ] as const,
      2,
    )) {
      const rewritten = ndjson(linked(changedAt(index, () => ({ type: 'Other' }))));
      expect(await verifyTwice(rewritten, note, key, parts)).toMatchObject({
        ...{ ok: false, provedEvents: part, firstWrongPosition: positionOf(part) },
      });
      if (!isLong && part > 0) continue;
      expect(await verifyTwice(rewritten, note, key)).toMatchObject({
        ...{ ok: false, provedEvents: 0, firstWrongPosition: FIRST },
      });
    }
    const short = ndjson(linked(history.filter((_, n) => n !== 340)));
    expect(await verifyTwice(short, note, key, parts)).toMatchObject({
      ...{ ok: false, provedEvents: 336, firstWrongPosition: positionOf(336) },
    });
  });

  const IGNORED: [string, string][] = [
    ['of another history', allPartsOf(linked(changedAt(3, () => ({ type: 'Other' }), few)))],
    ['that end before it does', parts.replace(/.*\n$/, '')],
    ['that go on after its end', `${parts}9999 9999 1 ${rootOf([]).toString('base64')}\n`],
    ['in another order', parts.replace(/^(.*\n)(.*\n)/, '$2$1')],
    ['with positions that go back', parts.replace(/^10 /, '9999 ')],
    ['beyond its position', parts.replace(/ \d+( 8 .*\n)$/, ' 999999$1')],
    ['that have room for fewer leaves', parts.replace(/^10 \d+ /, '10 20 ')],
    ['without their last line feed', parts.trimEnd()],
    ['with an empty line', `\n${parts}`],
    ['as they were in older checkpoints', parts.replace(/^/gm, 'part ')],
    ['with white space', parts.replace(/ /, '  ')],
    ['with a number written differently', parts.replace(/^10 /, '010 ')],
    ['that are empty', ''],
  ];
  it.each(IGNORED)('is verified without parts %s, with a warning', async (_, given) => {
    const warnings = [{ position: null, reason: expect.stringContaining('were ignored') }];
    expect(await verifyTwice(ndjson(few), note, key, given)).toMatchObject({
      ...{ ok: true, provedEvents: 40, warningCount: 1, warnings },
    });
  });

  it.each(someOf(IGNORED, 2))('locates no difference by parts %s', async (_, given) => {
    const rewritten = ndjson(linked(changedAt(36, () => ({ type: 'Other' }), few)));
    expect(await verifyTwice(rewritten, note, key, given)).toMatchObject({
      ...{ ok: false, firstWrongPosition: FIRST, warningCount: 1 },
    });
  });

  it('uses its own parts if those next to it differ', async () => {
    const rewritten = ndjson(linked(changedAt(300, () => ({ type: 'Other' }))));
    const others = allPartsOf(history);
    for (const [given, warningCount] of [
      [others, 0],
      [others.replace(/^10 /, '9999 '), 1],
    ] as const) {
      expect(await verifyTwice(rewritten, checkpoint, key, given)).toMatchObject({
        ...{ ok: false, provedEvents: 256, firstWrongPosition: positionOf(256), warningCount },
      });
    }
  });

  const false_ = signer.line(`${text}\n`);
  const witness = new Signer(8, 'witness.example/w');
  const stranger = new Signer(6, 'advocacy-api');
  const foreign = new Signer(5, `advocacy-api/${uuidv7()}`);
  it.each([
    ['several signers', signed(text, stranger, witness, ownSigner, signer), key],
    ['false signatures of keys that no one asked for', note + stranger.line('another text\n'), key],
    ['the same signature twice', note + signer.line(text), key],
    ['a line of another kind of signature', `${note}— witness.example/w ${'A'.repeat(104)}\n`, key],
  ])('is verified with %s', async (_, given, verifierKey) => {
    expect(await verifyTwice(ndjson(few), given, verifierKey)).toMatchObject({ ok: true });
  });

  it.each([
    ['a false signature of the key next to its true one', note + false_, key],
    ['… before it', `${text}\n${false_}${signer.line(text)}`, key],
    ['a signature of the key that is too short', `${note}${signer.line(text).slice(0, 60)}\n`, key],
    ['no signature under the name of the key', signed(text, ownSigner), key],
    ['a key of the same name and another origin', signed(text, foreign), foreign.verifierKey],
    ['a key of another name', signed(text, witness), witness.verifierKey],
    ['a line that is not a signature', `${note}paid\n`, key],
    ['an empty line more', `${note}\n`, key],
    ['a sixth line', signed(`${text}paid\n`, signer), key],
    ['no time', signed(text.replace(/sealed .*\n/, ''), signer), key],
    ['a moment of another zone', signed(text.replace('000Z', '000+00:00'), signer), key],
    ['a size written otherwise', signed(text.replace('\n40\n', '\n040\n'), signer), key],
    ['a root that is too short', signed(text.replace(/\n\S{44}\n/, '\nAAAA\n'), signer), key],
    ['no position', signed(text.replace(/position .*/, 'position'), signer), key],
    ['another origin', signed(text.replace('advocacy-api/', 'example.org/'), signer), key],
    ['its id in upper case', signed(text.replace(organizationId, organizationId.toUpperCase()), signer), key],
    ['a longer id', signed(text.replace(organizationId, `${organizationId}ff`), signer), key],
  ])('is rejected with %s', async (_, given, verifierKey) => {
    expect(await verifyTwice(ndjson(few), given, verifierKey)).toMatchObject({
      ...{ ok: false, events: 0, firstWrongPosition: null },
    });
  });
});

it('reads lines wherever the chunks of the file end', async () => {
  const text = ndjson(few);
  for (const size of [1, 7, 1000]) {
    expect(await verifyExport(chunksOf(text, size), checkpointOfFew, key)).toMatchObject({
      ok: true,
      events: 40,
    });
  }
});

it('reports a last line without an end', async () => {
  const text = ndjson(few);
  for (const [cut, events, last] of [
    [text.trimEnd(), 40, 38],
    [`${text}{`, 41, 39],
    [`${text}\r`, 41, 39],
  ] as const) {
    // The checkpoint is missing the event that is cut off. Events after its own do not belong to it.
    const missing = events === 40;
    expect(await verifyTwice(cut, checkpointOfFew, key)).toMatchObject({
      ...{ ok: false, events, provedEvents: missing ? 0 : 40, firstWrongPosition: positionOf(last) + 1 },
      reason: expect.stringContaining('does not end with a line feed'),
    });
  }
});

longIt('accepts lines of 16 MiB, and rejects longer ones', async () => {
  const ofLength = (length: number) => {
    const short = ndjson(fabricate(1)).length - 1;
    return fabricate(1, { comment: 'x'.repeat(length - short + 'The river'.length) });
  };
  const longest = ofLength(16 * 1024 * 1024);
  expect(await verifyTwice(ndjson(longest), checkpointOf(longest), key)).toMatchObject({ ok: true });
  const longer = ofLength(16 * 1024 * 1024 + 1);
  expect(await verifyTwice(ndjson(longer), checkpointOf(longer), key)).toMatchObject({
    ...{ ok: false, events: 1, firstWrongPosition: 1 },
    reason: 'Line 1 has more than 16777216 bytes.',
  });
});

it('reports its progress and can be interrupted', async () => {
  const progress: number[] = [];
  const lines = fabricate(2_000);
  const work = verifyExport(chunksOf(ndjson(lines)), checkpointOf(lines), key, {
    onProgress(events) {
      progress.push(events);
      if (events >= 1_000) throw new Error('enough');
    },
  });
  await expect(work).rejects.toThrow('enough');
  expect(progress.length).toBeGreaterThan(2);
  expect(progress.at(-1)!).toBeLessThan(1_200);
});

it('writes JSON like the example in RFC 8785, section 3.2.2', () => {
  const json =
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
    '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}';
  expect(canonical(JSON.parse(json))).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

async function* chunksOf(text: string, size = 65_536): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) {
    yield await Promise.resolve(bytes.subarray(start, start + size));
  }
}
