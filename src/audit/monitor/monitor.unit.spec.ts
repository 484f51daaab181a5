import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Signers } from '#libs/sealing';
import { NotAnswered } from '../fetch-answer.js';
import { LogClient, tilePath } from './log-client.js';
import { Monitor } from './monitor.js';

const signers = new Signers([Buffer.alloc(32, 1)]);
const organizationId = '01990a6e-1111-7000-8000-000000000001';
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** Leaves of a history, which differ from `fork` on. */
const leavesOf = (size: number, fork = Infinity) =>
  Array.from({ length: size }, (_, n) => sha256(Buffer.from(n < fork ? `${n}` : `fork ${n}`)));
function rootOf(all: readonly Buffer[]): Buffer {
  if (all.length <= 1) return all[0] ?? sha256();
  const middle = 2 ** (Math.ceil(Math.log2(all.length)) - 1);
  return sha256(Buffer.of(1), rootOf(all.slice(0, middle)), rootOf(all.slice(middle)));
}

/** The server's content: a checkpoint and C2SP tlog-tiles, or something else for paths with this ending. */
let shown: { size: number; fork?: number; position?: number; sealedAt?: Date; tilesFork?: number };
let instead: { [end: string]: (asked: number) => [status: number, body: Buffer | string, headers?: object] };
let asked: string[];
let server: Server;
let directory: string;
let monitor: Monitor;
beforeEach(async () => {
  [instead, asked] = [{}, []];
  server = createServer((request, response) => {
    const path = request.url!.replace(`/base/log/${organizationId}/`, '');
    asked.push(path);
    if (path.startsWith('/base/v1/'))
      expect(path).toMatch(/^\/base\/v1\/history\.list-events\?type=SigningKeyRotated&/);
    const other = Object.entries(instead).find(([end]) => path.endsWith(end));
    const [status, body, headers] = other
      ? other[1](asked.filter((one) => one === path).length)
      : [200, answer(path)];
    response.writeHead(status, headers as Record<string, string>).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  directory = await mkdtemp(join(tmpdir(), 'monitor-'));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`;
  const client = new LogClient(url, organizationId);
  monitor = new Monitor(client, organizationId, signers.verifierKey, join(directory, 'seen'));
});
afterEach(async () => {
  server.close();
  await rm(directory, { recursive: true });
});

function answer(path: string): Buffer | string {
  const { size, fork, position = size, sealedAt = new Date(0), tilesFork = fork } = shown;
  if (path === 'checkpoint') {
    const root = rootOf(leavesOf(size, fork));
    return signers.signCheckpoint({ organizationId, size, root, position, sealedAt });
  }
  // No key was replaced.
  if (path.startsWith('/base/v1/')) return JSON.stringify({ data: [], pagination: { hasMore: false } });
  const [, level, index, width = '256'] = /^tile\/(\d)\/(\d{3})(?:\.p\/(\d+))?$/.exec(path)!;
  const wide = 256 ** Number(level);
  const all = leavesOf(size, tilesFork);
  const first = Number(index) * 256;
  const hashes = Array.from({ length: Number(width) }, (_, n) =>
    rootOf(all.slice((first + n) * wide, (first + n + 1) * wide)),
  );
  return Buffer.concat(hashes);
}

const look = async (now: typeof shown) => {
  shown = now;
  const found = await monitor.look();
  return found.isAlarm ? found.sentence : found.isNew;
};
const remembered = async () => Number((await readFile(join(directory, 'seen'), 'utf8')).split('\n')[1]);

it('remembers a checkpoint that continues the last one, and reads few tiles', async () => {
  for (const size of [1, 2, 255, 256, 257, 600, 1_000]) {
    expect([size, await look({ size })]).toEqual([size, true]);
    expect([size, await look({ size })]).toEqual([size, false]);
    expect(await remembered()).toBe(size);
  }
  asked = [];
  await look({ size: 1_100 });
  expect(asked.sort()).toEqual(['checkpoint', 'tile/0/003', 'tile/0/004.p/76', 'tile/1/000.p/4']);
});

it.each<[string, typeof shown, RegExp]>([
  ['a fork', { size: 700, fork: 300 }, /does not begin with the 600 events/],
  ['a fork of one event, long ago', { size: 601, fork: 0 }, /does not begin with the 600 events/],
  [
    'another history with the same number of events',
    { size: 600, fork: 599 },
    /two different histories of 600/,
  ],
  ['fewer events', { size: 599 }, /599 events, but showed one of 600/],
  [
    'another position of the same events',
    { size: 600, position: 601 },
    /position of 600 leaves is 600, and of 600 leaves 601/,
  ],
  [
    'another time of the same events',
    { size: 600, sealedAt: new Date(1) },
    /the server dates 600 leaves 1970-01-01T00:00:00.000Z, and 600/,
  ],
  [
    'no later position of more events',
    { size: 700, position: 600 },
    /position of 600 leaves is 600, and of 700 leaves 600/,
  ],
  [
    'an earlier time of more events',
    { size: 700, sealedAt: new Date(-1) },
    /and 700 leaves 1969-12-31T23:59:59.999Z/,
  ],
  ['tiles of another history', { size: 700, tilesFork: 3 }, /do not match its checkpoint/],
])('reports %s with both notes, and remembers it', async (_, now, sentence) => {
  await look({ size: 600 });
  expect(await look(now)).toMatch(sentence);
  const again = await monitor.look();
  const before = await readFile(join(directory, 'seen'), 'utf8');
  expect(again).toMatchObject({ isAlarm: true, notes: [before, answer('checkpoint')] });
  expect(await remembered()).toBe(600);
});

it('does not accept a checkpoint that is dated more than a minute in the future', async () => {
  await look({ size: 600 });
  const ahead = { size: 700, sealedAt: new Date(Date.now() + 120_000) };
  await expect(look(ahead)).rejects.toThrow(NotAnswered);
  await expect(look(ahead)).rejects.toThrow(/dates its checkpoint in the future: .*\. Compare the clocks/);
  expect(await remembered()).toBe(600);
});

it('does not treat an invalid response as a history', async () => {
  await look({ size: 600 });
  shown = { size: 700 };
  const foreign = new Signers([Buffer.alloc(32, 2)]);
  const tree = { organizationId, size: 1, root: sha256(), position: 1, sealedAt: new Date(0) };
  const other = organizationId.replace('1', '2');
  for (const [end, status, body, reason] of [
    ['checkpoint', 200, '<html>', /no checkpoint signed with its key/],
    ['checkpoint', 200, foreign.signCheckpoint(tree), /no checkpoint signed with its key/],
    [
      'checkpoint',
      200,
      signers.signCheckpoint({ ...tree, organizationId: other }),
      /no checkpoint signed with its key/,
    ],
    ['checkpoint', 200, 'x'.repeat(70_000), /is too large/],
    ['checkpoint', 302, '', /cannot be reached/],
    ['checkpoint', 401, '{"error":{"message":"No key."}}', /status 401 \(No key\.\)$/],
    ['tile/0/002.p/188', 404, '<html>', /status 404$/],
    ['tile/0/002.p/188', 200, 'short', /5 bytes instead of 188 hashes/],
  ] as const) {
    instead = { [end]: () => [status, body, { Location: '/elsewhere' }] };
    await expect(monitor.look()).rejects.toThrow(reason);
    await expect(monitor.look()).rejects.toThrow(NotAnswered);
  }
  instead = {};
  server.closeAllConnections();
  expect(await look({ size: 700 })).toBe(true);
  server.close().closeAllConnections();
  await expect(monitor.look()).rejects.toThrow(NotAnswered);
});

describe('after its key was replaced', () => {
  const seeds = [1, 3, 9].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
  const [own, following, strange] = seeds;
  const next = new Signers([following]);
  const succession = (from: Buffer, to: Buffer) => new Signers([to, from]).succession(organizationId)!;
  const tell = (data: object[], more?: string) => () =>
    [200, JSON.stringify({ data, pagination: { hasMore: more !== undefined, cursor: more ?? null } })] as [
      number,
      string,
    ];
  const showing = (size: number) => {
    shown = { size };
    const tree = {
      organizationId,
      size,
      root: rootOf(leavesOf(size)),
      position: size,
      sealedAt: new Date(0),
    };
    return { checkpoint: () => [200, next.signCheckpoint(tree)] as [number, string] };
  };

  it('follows the history to the current key, each time from the beginning', async () => {
    await look({ size: 600 });
    for (const size of [700, 800]) {
      instead = {
        ...showing(size),
        'after=0': tell([{ position: 7, data: succession(strange, own) }], '8'),
        'after=8': tell([{ position: 9, data: succession(own, following) }]),
      };
      expect(await monitor.look()).toMatchObject({ isAlarm: false, isNew: true, checkpoint: { size } });
      expect(await remembered()).toBe(size);
    }
  });

  it('accepts only evidence that its key has signed', async () => {
    await look({ size: 600 });
    const forged = { ...succession(strange, following), from: signers.verifierKey };
    for (const [answer, reason] of [
      [tell([]), /no checkpoint signed with its key/],
      [tell([{ position: 9, data: forged }]), /The event at position 9 .* Someone inserted the event/],
      [() => [401, ''], /cannot be looked up: .* status 401/],
      [() => [200, '<html>'], /cannot be looked up/],
    ] as [() => [number, string], RegExp][]) {
      instead = { ...showing(700), 'after=0': answer };
      await expect(monitor.look()).rejects.toThrow(reason);
      await expect(monitor.look()).rejects.toThrow(NotAnswered);
      expect(await remembered()).toBe(600);
    }
  });
});

it('retries later when it is rate limited', async () => {
  instead = {
    checkpoint: (times) => (times < 2 ? [429, '', { 'Retry-After': '1' }] : [200, answer('checkpoint')]),
  };
  expect(await look({ size: 3 })).toBe(true);
});

it('names tiles like tlog-tiles', () => {
  expect(tilePath(0, 1_234_067, 2 ** 40)).toBe('tile/0/x001/x234/067');
  expect(tilePath(1, 1_000, 256 ** 2 * 1_000 + 256 * 7 + 3)).toBe('tile/1/x001/000.p/7');
  expect(tilePath(0, 0, 256)).toBe('tile/0/000');
});
