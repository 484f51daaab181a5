import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { eventDigest, type JsonObject } from '#libs/event-store';
import { Signer } from '#libs/sealing';
import { verifyTwice } from '../../../test/verifiers.js';
import { canonical } from './digest.js';
import { verifyExport } from './index.js';

const organizationId = uuidv7();
const signer = new Signer(Buffer.alloc(32, 5));
const key = signer.verifierKey;

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

/** Events whose positions leave room between them, as those of other organizations do. */
function fabricate(count: number, data: JsonObject = { comment: 'The river' }): Line[] {
  const streamId = uuidv7();
  return linked(
    Array.from({ length: count }, (_, index) => ({
      position: positionOf(index),
      previousPosition: 0,
      organizationId,
      streamType: 'thing',
      streamId,
      version: index + 1,
      eventId: uuidv7(),
      type: 'Happened',
      schema: 1,
      data,
      personal: index % 2 ? { email: 'ada@example.org' } : null,
      encryptedPersonal: index % 2 ? Buffer.from(`cipher ${index}`).toString('base64') : null,
      subjectId: index % 2 ? streamId : null,
      metadata: { actor: { type: 'api-key', id: 'a' }, requestId: 'r' },
      recordedAt: new Date(1_700_000_000_000 + index).toISOString(),
    })),
  );
}

/** As a careful forger leaves them: each digest that of its content, each line after the one before. */
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

const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

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

function checkpointOf(lines: readonly Line[], position = lines.at(-1)?.position ?? 0): string {
  const parts = [];
  for (let start = 0, leaves = 65_536; leaves >= 256;) {
    if (start + leaves > lines.length) {
      leaves /= 256;
      continue;
    }
    const part = lines.slice(start, start + leaves);
    const ends = { firstPosition: part[0]!.position, lastPosition: part.at(-1)!.position };
    parts.push({ ...ends, leaves, hash: rootOf(part) });
    start += leaves;
  }
  const sealed = { organizationId, size: lines.length, root: rootOf(lines), position, parts };
  return signer.signCheckpoint({ ...sealed, sealedAt: new Date(0) });
}

const ndjson = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const rest = { ok: false, reason: expect.any(String) };

/** 600 events: two parts of 256, and 88 that no part holds. */
const history = fabricate(600);
const checkpoint = checkpointOf(history);
const changedAt = (index: number, change: (line: Line) => object) =>
  history.map((line, n) => (n === index ? { ...line, ...change(line) } : line));

describe('a history that is what was sealed', () => {
  it.each([1, 2, 3, 255, 256, 257, 600])('is proved, %i events', async (size) => {
    const lines = fabricate(size);
    expect(await verifyTwice(ndjson(lines), checkpointOf(lines), key)).toEqual({
      ok: true,
      events: size,
      provedEvents: size,
      firstWrongPosition: null,
      reason: null,
    });
  });

  it('is proved beyond 65,536 events, and a difference is placed behind them', async () => {
    const lines = fabricate(65_536 + 256 + 3);
    const large = checkpointOf(lines);
    expect(await verifyTwice(ndjson(lines), large, key)).toMatchObject({ ok: true, provedEvents: 65_795 });
    const changed = { ...lines[65_540]!, type: 'Other' };
    lines[65_540] = { ...changed, digest: digestOf(changed) };
    expect(await verifyTwice(ndjson(lines), large, key)).toMatchObject({
      ok: false,
      provedEvents: 65_536,
      firstWrongPosition: positionOf(65_536),
    });
  });

  it('is proved after the person was erased, whose data are readable no more', async () => {
    const erased = history.map((line) => ({ ...line, personal: null }));
    expect(await verifyTwice(ndjson(erased), checkpoint, key)).toMatchObject({ ok: true });
  });

  it('is proved whatever numbers, names and texts its data have', async () => {
    const data = JSON.parse(
      '{"n":[1e21,1e-7,0.1,5e-324,-0,9007199254740993,1.50,1E2,1.7976931348623157e308],"10":1,"9":2,' +
        '"\\ufb33":1,"\\ud83d\\ude00":2,"__proto__":{"z":1,"a":2},"":null,"text":"\\u2028 \\" \\\\ : \\u0007 €"}',
    ) as JsonObject;
    const lines = fabricate(3, data);
    expect(await verifyTwice(ndjson(lines), checkpointOf(lines), key)).toMatchObject({ ok: true });
    const respelled = ndjson(lines).replaceAll('1e-7', '0.0000001').replaceAll('"n":[', ' "n" : [ ');
    expect(await verifyTwice(respelled, checkpointOf(lines), key)).toMatchObject({ ok: true });
  });

  it('goes on after the checkpoint: what is newer is checked but not proved', async () => {
    const older = checkpointOf(history.slice(0, 300));
    expect(await verifyTwice(ndjson(history), older, key)).toMatchObject({
      ok: true,
      events: 600,
      provedEvents: 300,
    });
    const changed = changedAt(400, () => ({ type: 'Other' }));
    expect(await verifyTwice(ndjson(changed), older, key)).toMatchObject({
      ok: false,
      provedEvents: 300,
      firstWrongPosition: positionOf(400),
    });
  });
});

describe('a line that is wrong by itself', () => {
  it.each([
    ['data', () => ({ data: { comment: 'The rivers' } })],
    ['the type of a number', (line: Line) => ({ version: String(line.version) })],
    ['the ciphertext', () => ({ encryptedPersonal: 'Y2lwaGVyIDMwMA==' })],
    ['the time', () => ({ recordedAt: '2023-11-14T22:13:20.302Z' })],
    ['the spelling of the time', (line: Line) => ({ recordedAt: line.recordedAt.replace('Z', '+00:00') })],
    ['the actor', () => ({ metadata: { actor: { type: 'api-key', id: 'b' }, requestId: 'r' } })],
    ['the subject', () => ({ subjectId: null })],
    [
      'the digest',
      (line: Line) => ({ digest: line.digest.replace(/^./, (c: string) => (c === '0' ? '1' : '0')) }),
    ],
    ['the organization', () => ({ organizationId: uuidv7() })],
  ] as [string, (line: Line) => object][])('is named where %s was changed', async (_, change) => {
    expect(await verifyTwice(ndjson(changedAt(301, change)), checkpoint, key)).toEqual({
      ...rest,
      events: 302,
      provedEvents: 256,
      firstWrongPosition: positionOf(301),
    });
  });

  it('is named where personal data stand that were never stored', async () => {
    const forged = changedAt(300, () => ({ personal: { email: 'eve@example.org' } }));
    expect(await verifyTwice(ndjson(forged), checkpoint, key)).toMatchObject({
      ok: false,
      firstWrongPosition: positionOf(300),
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
      'has no position before',
      (line: string) => line.replace(/"previousPosition":\d+/, '"previousPosition":1.5'),
    ],
    ['is nested without end', (line: string) => line.replace(/"data":/, `"data":${'['.repeat(100_000)}`)],
  ] as [string, (line: string) => string][])(
    'is named after the line before where it %s',
    async (_, change) => {
      const lines = ndjson(history).trimEnd().split('\n');
      lines[5] = change(lines[5]!);
      expect(await verifyTwice(Buffer.from(`${lines.join('\n')}\n`, 'latin1'), checkpoint, key)).toEqual({
        ...rest,
        events: 6,
        provedEvents: 0,
        firstWrongPosition: positionOf(4) + 1,
      });
    },
  );

  it('fills no memory where it never ends', async () => {
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

describe('lines that do not follow each other', () => {
  const without = (first: number, count = 1) => history.filter((_, n) => n < first || n >= first + count);
  it.each([
    ['a line is missing', without(20), positionOf(20)],
    ['lines are missing: the last of them', without(20, 5), positionOf(24)],
    ['the first line is missing', without(0), positionOf(0)],
    ['a line is there twice', [...history.slice(0, 21), ...history.slice(20)], positionOf(20)],
    [
      'two lines are swapped',
      history.map((_, n) => history[n === 20 ? 21 : n === 21 ? 20 : n]!),
      positionOf(20),
    ],
    [
      'a line was put in',
      [
        ...history.slice(0, 21),
        { ...history[20]!, previousPosition: positionOf(20), position: positionOf(20) + 1 },
        ...history.slice(21),
      ],
      positionOf(20) + 1,
    ],
    ['a position was changed', changedAt(20, ({ position }) => ({ position: position + 1 })), positionOf(20)],
    ['positions go back', changedAt(20, () => ({ position: 1 })), positionOf(19) + 1],
  ] as [string, Line[], number][])('are named where %s', async (_, lines, firstWrongPosition) => {
    expect(await verifyTwice(ndjson(lines), checkpoint, key)).toMatchObject({
      ok: false,
      firstWrongPosition,
    });
  });
});

describe('a history rewritten with right digests', () => {
  const rewritten = (index: number) => linked(changedAt(index, () => ({ type: 'Other' })));

  it('is placed by the part that differs', async () => {
    for (const [index, part] of [
      [0, 0],
      [255, 0],
      [256, 256],
      [511, 256],
    ] as const) {
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

  it('is placed behind the last part', async () => {
    expect(await verifyTwice(ndjson(rewritten(599)), checkpoint, key)).toMatchObject({
      ok: false,
      events: 600,
      provedEvents: 512,
      firstWrongPosition: positionOf(512),
      reason: expect.stringContaining(`between position ${positionOf(511)} and position ${positionOf(599)}`),
    });
  });

  it('is placed where an event was taken out of it, or put into it', async () => {
    const taken = linked(history.filter((_, n) => n !== 300));
    const [before, after] = [history.slice(0, 301), history.slice(301)];
    const given = linked([...before, { ...history[300]!, position: positionOf(300) + 1 }, ...after]);
    for (const lines of [taken, given]) {
      const verdict = await verifyTwice(ndjson(lines), checkpoint, key);
      expect(verdict).toMatchObject({ ok: false, provedEvents: 256, firstWrongPosition: positionOf(256) });
    }
    // Behind the parts only the number tells; the newest event stands, so it is not that one.
    const short = linked(history.filter((_, n) => n !== 550));
    expect(await verifyTwice(ndjson(short), checkpoint, key)).toMatchObject({
      ok: false,
      provedEvents: 512,
      firstWrongPosition: positionOf(512),
      reason: expect.stringMatching(/^1 of the 600 events .* are missing/),
    });
  });

  it('is named where its newest events are missing, also when newer ones were added', async () => {
    const missing = { ok: false, provedEvents: 512, firstWrongPosition: positionOf(596) + 1 };
    const kept = history.slice(0, 597);
    const newer = { ...history[599]!, position: positionOf(700) };
    for (const lines of [kept, linked([...kept, newer])]) {
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

  it('is named where an event lies before the checkpoint that was put in behind its last one', async () => {
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
  /** The last character before one "=" has two bits to spare: the next one stands for the same bytes. */
  const nextCharacter = (character: string) => BASE64[BASE64.indexOf(character) + 1]!;
  const [name, id, encoded] = key.split('+') as [string, string, string];
  const other = new Signer(Buffer.alloc(32, 6)).verifierKey;
  it.each([
    ['another key', checkpoint, other],
    ['a key of another id', checkpoint, `${name}+00000000+${encoded}`],
    ['a key of another name', checkpoint, `other+${id}+${encoded}`],
    ['half a key', checkpoint, key.slice(0, -8)],
    ['no key', checkpoint, 'key'],
    ['another size', checkpoint.replace('\n600\n', '\n599\n'), key],
    ['a part left out', checkpoint.replace(/part .*\n/, ''), key],
    ['no signature', checkpoint.slice(0, checkpoint.indexOf('—')), key],
    ['a changed signature', checkpoint.replace(/.(?=.{9}=\n$)/, (c) => (c === 'A' ? 'B' : 'A')), key],
    [
      'a signature with a bit that its bytes do not have',
      checkpoint.replace(/.(?==\n$)/, nextCharacter),
      key,
    ],
    ['no text', '', key],
  ])('is refused: %s', async (_, note, verifierKey) => {
    expect(await verifyTwice(ndjson(history), note, verifierKey)).toEqual({
      ...rest,
      events: 0,
      provedEvents: 0,
      firstWrongPosition: null,
    });
  });

  it('is refused where it contradicts itself, although it is signed', async () => {
    const sealedAt = new Date(0);
    const sealed = { organizationId, size: 600, root: rootOf(history), position: 7, sealedAt };
    const part = { firstPosition: 1, lastPosition: 2, hash: rootOf([]) };
    for (const parts of [
      [{ ...part, leaves: 1024 }],
      [{ ...part, leaves: 100 }],
      [
        { ...part, leaves: 1 },
        { ...part, leaves: 256 },
      ],
    ]) {
      const note = signer.signCheckpoint({ ...sealed, parts });
      expect(await verifyExport(chunksOf(''), note, key)).toEqual({
        ok: false,
        events: 0,
        provedEvents: 0,
        firstWrongPosition: null,
        reason: 'This is not a checkpoint: its parts are not complete subtrees of the tree.',
      });
    }
  });

  it('is accepted beside the signatures of others', async () => {
    const witnessed = `${checkpoint}— witness.example/w ${Buffer.alloc(68, 1).toString('base64')}\n`;
    expect(await verifyTwice(ndjson(history), witnessed, key)).toMatchObject({ ok: true });
  });
});

it('reads lines wherever the pieces of the file end', async () => {
  const text = ndjson(history.slice(0, 300));
  const note = checkpointOf(history.slice(0, 300));
  for (const size of [1, 7, 1000]) {
    expect(await verifyExport(chunksOf(text, size), note, key)).toMatchObject({ ok: true, events: 300 });
  }
  expect(await verifyExport(chunksOf(text.trimEnd()), note, key)).toMatchObject({ ok: true, events: 300 });
});

it('tells of its progress and can be interrupted', async () => {
  const stopped = new AbortController();
  const progress: number[] = [];
  const lines = fabricate(5_000);
  const work = verifyExport(chunksOf(ndjson(lines)), checkpointOf(lines), key, () => 0.5, {
    signal: stopped.signal,
    onProgress({ events, share }) {
      progress.push(events, share);
      if (events === 2_000) stopped.abort(new Error('enough'));
    },
  });
  await expect(work).rejects.toThrow('enough');
  expect(progress).toEqual([1_000, 0.5, 2_000, 0.5]);
});

it('writes JSON as RFC 8785 does, in the example of its section 3.2.2', () => {
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
