import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type S3Server, startS3Server } from '#libs/testing';
import { AnchorBucket } from './bucket.js';
import { longIt } from '../../../test/length.js';
import { Anchors, type AnchorStore, type Checkpoint } from './anchors.js';
import { bucketLocationOf, openAnchorStore } from './stores.js';
import { checkpointName } from './names.js';

const organizationId = '01990a6e-1111-7000-8000-000000000001';
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

let directory: string;
let server: S3Server;
let client: S3Client;
const environment = { ...process.env };
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'anchors-'));
  server = await startS3Server();
});
beforeEach(() => {
  Object.assign(process.env, server.environment, {
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  });
  client ??= new S3Client({ forcePathStyle: true });
});
afterEach(() => {
  for (const name of Object.keys(server.environment)) delete process.env[name];
  Object.assign(process.env, environment);
});
afterAll(async () => {
  client.destroy();
  await server.stop();
  await rm(directory, { recursive: true });
});

/** Trees of one and two leaves; `fork` gives them different leaves. */
const leaf = (n: number, fork: string) => sha256(Buffer.of(0), Buffer.from(`${fork}${n}`));
function checkpoint(size: 1 | 2, fork = ''): Checkpoint {
  const root = size === 1 ? leaf(1, fork) : sha256(Buffer.of(1), leaf(1, fork), leaf(2, fork));
  const note = `advocacy-api/${organizationId}\n${size}\n${root.toString('base64')}\n\n— note\n`;
  const proveFrom = () => Promise.resolve([leaf(2, fork)]);
  return { organizationId, size, root, note, proveFrom };
}

type Place = {
  store(): Promise<AnchorStore>;
  names(): Promise<string[]>;
  /** As another program would write it. */
  put(name: string, text: string): Promise<unknown>;
};

/** Part of each test's name. */
const BUCKET = 'bucket of s3rver, with conditional writes added by a proxy';

const places: { [kind: string]: (own: string) => Place } = {
  directory: (own) => {
    const files = join(directory, own, organizationId);
    return {
      store: () => openAnchorStore(join(directory, own)),
      names: () => readdir(files),
      put: (name, text) => writeFile(join(files, name), text),
    };
  },
  [BUCKET]: (own) => {
    const Bucket = server.bucket;
    const prefix = `${own}/kept`;
    const Prefix = `${prefix}/${organizationId}/`;
    return {
      store: () => openAnchorStore(bucketLocationOf(`s3://${Bucket}/${prefix}/`)!),
      async names() {
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
        return Contents.map(({ Key }) => Key!.slice(Prefix.length));
      },
      put: (name, Body) => client.send(new PutObjectCommand({ Bucket, Key: `${Prefix}${name}`, Body })),
    };
  },
};

describe.each(Object.entries(places))('in a %s', (_, placeOf) => {
  let place: Place;
  const anchors = async () => new Anchors(await place.store());
  beforeEach(() => {
    place = placeOf(randomUUID());
  });

  it('stores each checkpoint that continues the last one, once', async () => {
    const first = await anchors();
    expect(await first.add(checkpoint(1))).toEqual({ isNew: true });
    expect(await first.add(checkpoint(1))).toEqual({ isNew: false });
    const later = await anchors();
    expect(await later.add(checkpoint(1))).toEqual({ isNew: false });
    expect(await later.add(checkpoint(2))).toEqual({ isNew: true });
    // The slower writer finds it.
    expect(await first.add(checkpoint(2))).toEqual({ isNew: false });
    expect(await place.names()).toEqual(['000000000000001.checkpoint', '000000000000002.checkpoint']);
    const store = await place.store();
    expect(await store.organizations()).toEqual([organizationId]);
    expect(await store.read(organizationId, 2)).toBe(checkpoint(2).note);
  });

  it.each<[string, (1 | 2)[], Checkpoint, RegExp]>([
    [
      'another history with the same number of events',
      [1],
      checkpoint(1, 'fork'),
      /does not begin with the 1 anchored events/,
    ],
    ['another, longer history', [1], checkpoint(2, 'fork'), /does not begin with the 1 anchored events/],
    [
      'fewer events',
      [1, 2],
      checkpoint(1),
      /of 1 events, but one of 2 events is anchored\. It was rolled back/,
    ],
  ])('reports %s, and changes nothing', async (_, before, now, sentence) => {
    for (const size of before) await (await anchors()).add(checkpoint(size));
    const names = await place.names();
    const added = await (await anchors()).add(now);
    const last = checkpoint(before.at(-1)!);
    expect(added).toEqual({ alarm: expect.stringMatching(sentence), notes: [last.note, now.note] });
    expect(await place.names()).toEqual(names);
    expect(await (await place.store()).read(organizationId, last.size)).toBe(last.note);
  });

  it('never overwrites an anchor, whichever writer is first, and reports the conflict to the second', async () => {
    const forks = Array.from({ length: 10 }, (_, n) => checkpoint(1, `fork ${n}`));
    const added = await Promise.all(forks.map(async (fork) => (await anchors()).add(fork)));
    expect(added.filter((one) => 'isNew' in one && one.isNew)).toHaveLength(1);
    expect(added.filter((one) => 'alarm' in one)).toHaveLength(9);
    expect(await place.names()).toHaveLength(1);
    const winner = forks[added.findIndex((one) => 'isNew' in one)]!;
    expect(await (await place.store()).read(organizationId, 1)).toBe(winner.note);
  });

  it('reports a checkpoint of the same history with another position, whichever writer is first', async () => {
    const { note, ...tree } = checkpoint(1);
    const claims = [1, 2].map((position) => `\nposition ${position}\nsealed 2026-11-22T12:00:00.000Z\n\n`);
    const notes = claims.map((claim) => note.replace('\n\n', claim));
    const added = await Promise.all(notes.map(async (one) => (await anchors()).add({ ...tree, note: one })));
    const stored = await (await place.store()).read(organizationId, 1);
    const other = notes.find((one) => one !== stored)!;
    expect(added).toContainEqual({
      alarm: expect.stringMatching(/contradicts the anchored one: the position of 1 leaves is/),
      notes: [stored, other],
    });
  });

  it('does not treat a damaged anchor as missing', async () => {
    await (await anchors()).add(checkpoint(1));
    await place.put('000000000000001.checkpoint', 'nonsense');
    await expect((await anchors()).add(checkpoint(2))).rejects.toThrow(/is damaged\. Restore it/);
  });
});

describe('a bucket', () => {
  const bucket = (prefix: string, page?: number) =>
    new AnchorBucket({ bucket: server.bucket, prefix }, undefined, page);

  longIt('finds the last of many anchors with a few requests, wherever it is', async () => {
    const prefix = randomUUID();
    const place = places[BUCKET]!(prefix);
    const sizes = Array.from({ length: 120 }, (_, n) => 7 * (n + 1));
    await Promise.all(sizes.map((size) => place.put(checkpointName(size), 'x')));
    const store = bucket(`${prefix}/kept`, 4);
    const asked = async (near: number) => {
      const before = server.asked.length;
      expect(await store.largest(organizationId, near)).toBe(840);
      return server.asked.length - before;
    };
    // The whole list has 30 pages.
    for (const near of [840, 841, 843]) expect(await asked(near)).toBe(1);
    for (const near of [0, 400, 839, 1_000, 10_000]) expect(await asked(near)).toBeLessThan(25);
    // Each step doubles.
    expect(await asked(1_000_000_000)).toBeLessThan(60);
    // Other files between and after the anchors hide nothing.
    await Promise.all(['000000000000050.txt', ...'abcdefgh'].map((name) => place.put(name, 'x')));
    for (const near of [0, 839, 841, 1_000]) await asked(near);
    expect(await store.largest('01990a6e-1111-7000-8000-000000000002', 7)).toBeUndefined();
  });

  it.each<[string, NodeJS.ProcessEnv, string, RegExp]>([
    ['no such bucket', {}, 'none', /has no bucket none: create it, or correct --to$/],
    [
      'who may not',
      { AWS_ACCESS_KEY_ID: 'NOBODY' },
      '',
      /denies these credentials s3:ListBucket on anchors: allow it, or use others \(InvalidAccessKeyId/,
    ],
    [
      'no credentials',
      { AWS_SECRET_ACCESS_KEY: '' },
      '',
      /no credentials found for .*: set AWS_ACCESS_KEY_ID/,
    ],
    ['no region', { AWS_REGION: '' }, '', /^set AWS_REGION to the region of the bucket/],
    [
      'nobody there',
      { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' },
      '',
      /^http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/,
    ],
  ])('reports what to do: %s', async (_, changed, name, sentence) => {
    for (const [variable, value] of Object.entries(changed)) {
      if (value === '') delete process.env[variable];
      else process.env[variable] = value;
    }
    const store = new AnchorBucket({ bucket: name || server.bucket, prefix: '' });
    await expect(store.largest(organizationId, 1)).rejects.toThrow(sentence);
  });

  it('is rejected at the first anchor if it overwrites objects, and otherwise tested only once', async () => {
    const puts = () => server.asked.filter((one) => one.startsWith('PUT')).length;
    const add = (prefix: string) => new Anchors(bucket(prefix)).add(checkpoint(1));
    const prefix = randomUUID();
    let before = puts();
    server.isConditional = false;
    await expect(add(prefix)).rejects.toThrow(/ignores If-None-Match, .* Use a store that supports/);
    server.isConditional = true;
    expect(puts() - before).toBe(2);
    before = puts();
    expect(await add(prefix)).toEqual({ isNew: false });
    const anchors = new Anchors(bucket(randomUUID()));
    for (const size of [1, 2] as const) expect(await anchors.add(checkpoint(size))).toEqual({ isNew: true });
    expect(puts() - before).toBe(3);
  });
});

it('a place is accepted only if it is a bucket with portable names', () => {
  expect(bucketLocationOf('s3://a-bucket')).toEqual({ bucket: 'a-bucket', prefix: '' });
  expect(bucketLocationOf('s3://a.bucket/x/y_z/')).toEqual({ bucket: 'a.bucket', prefix: 'x/y_z' });
  const wrong = [
    's3://',
    's3://A',
    's3://ab',
    's3:///x',
    's3://a-bucket//x',
    's3://a-bucket/x y',
    's3://a-bucket/ä',
  ];
  for (const text of wrong) expect([text, bucketLocationOf(text)]).toEqual([text, undefined]);
});
