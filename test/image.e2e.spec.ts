import sharp from 'sharp';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startS3Server } from '#libs/testing';
import { findAlteredFiles } from '../src/images/index.js';
import { type Answer, Api, type Client, ISO, NOBODY } from './harness.js';
import { ARTIST, flat, gif, noise, photo, picture } from './pictures.js';
import { createDirectory, Deployment, eventually, type ServerProcess } from './processes.js';
import { isLong, longDescribe, someOf } from './length.js';

type Bytes = Uint8Array<ArrayBuffer>;

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2, environment: { PUBLIC_URL: 'https://act.example.org' } });
  api.startWorkers();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

function send(
  bytes: Uint8Array,
  query: Record<string, string> = {},
  { by = client, type = 'image/png', ...headers }: { by?: Client; type?: string; [header: string]: any } = {},
): Promise<Answer> {
  const path = `/v1/image.upload-image?${new URLSearchParams(query).toString()}`;
  return by.request('POST', path, bytes as Bytes, { 'Content-Type': type, ...headers });
}
async function upload(...given: Parameters<typeof send>): Promise<string> {
  const { status, body } = await send(...given);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data.imageId;
}
async function sendForm(
  ...parts: [name: string, value: string | Uint8Array, filename?: string][]
): Promise<Answer> {
  const form = new FormData();
  for (const [name, value, filename] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([value]), filename);
  }
  const request = new Request('http://form', { method: 'POST', body: form });
  return send(
    new Uint8Array(await request.arrayBuffer()),
    {},
    { type: request.headers.get('content-type')! },
  );
}
const get = async (imageId: string, query: object = {}) =>
  (await client.get('image.get-image', { imageId, ...query })).body.data;
/** Fetches a URL of an image. */
const at = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(url.replace('https://act.example.org', api.instances[1]!.origin), { method, headers });

it('the self-check finds files that are not those in the history, and files that are missing', async () => {
  const [imageId, bytes] = [await upload(await photo(400, 300)), await photo(300, 400)];
  const sharing = await Promise.all(
    [client, await api.organization()].map((by) => upload(bytes, {}, { by })),
  );
  const { runtime } = api.instances[0]!;
  const { source } = runtime;
  const storage = await runtime.storage();
  const find = (sql: Parameters<typeof findAlteredFiles>[0] = source) => findAlteredFiles(sql, storage);
  expect(await find()).toBeUndefined();
  const [{ url }] = (await get(imageId)).variants;
  const name = new URL(url as string).pathname.replace('/images/', '');
  const stored = Buffer.from(await (await at(url)).arrayBuffer());
  await storage.put(name, Buffer.concat([stored, Buffer.of(0)]), 'image/webp');
  expect(await find()).toBe(
    `Files of image ${imageId} of organization ${client.organizationId} are not those that the history recorded when it was uploaded.`,
  );
  await storage.put(name, stored, 'image/webp');
  // Another version may have rendered files that images share, so the digest of any of these images counts.
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await runner.query(
    'ALTER TABLE events DISABLE TRIGGER events_are_append_only; GRANT UPDATE ON events TO CURRENT_USER',
  );
  const found: (string | undefined)[] = [];
  for (const id of sharing) {
    await runner.query(
      `UPDATE events SET data = jsonb_set(data, '{files,0,sha256}', to_jsonb(repeat('a', 64)))
       WHERE type = 'ImageFilesStored' AND data->>'imageId' = $1`,
      [id],
    );
    found.push(await find(runner.manager));
  }
  await runner.rollbackTransaction();
  await runner.release();
  expect(found).toEqual([undefined, expect.stringMatching(/, and of 1 more images are not those/)]);
  await storage.removeFolder(name.split('/')[0]!);
  expect(await find()).toContain(`${imageId} of organization ${client.organizationId} are missing.`);
});

describe('upload-image', () => {
  it('returns 200 with the id; get-image returns every field, and all files exist, upright and without metadata', async () => {
    const bytes = await photo(1_000, 700);
    const imageId = await upload(bytes, { name: 'Bridge', alt: 'A bridge' }, { type: 'image/jpeg' });
    const hash = createHash('sha256').update(bytes).digest('hex');
    const url = (file: string) => `https://act.example.org/images/${hash}/${file}`;
    const image = await get(imageId);
    expect(image).toEqual({
      id: imageId,
      createdAt: expect.stringMatching(ISO),
      updatedAt: expect.stringMatching(ISO),
      version: 1,
      name: 'Bridge',
      alt: 'A bridge',
      type: 'image/jpeg',
      url: url('700.jpg'),
      width: 700,
      height: 1_000,
      bytes: expect.any(Number),
      variants: [320, 640, 700].flatMap((width) => [
        { url: url(`${width}.webp`), width, type: 'image/webp' },
        { url: url(`${width}.jpg`), width, type: 'image/jpeg' },
      ]),
      organizationId: client.organizationId,
    });
    for (const { url, width, type } of image.variants) {
      const answer = await at(url);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
      const file = Buffer.from(await answer.arrayBuffer());
      if (url === image.url) expect(file.length).toBe(image.bytes);
      const made = await sharp(file).metadata();
      expect(made).toMatchObject({ width, format: type.replace('image/', '') });
      expect([made.exif, made.xmp, made.iptc, made.orientation]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
      expect(file.includes(ARTIST)).toBe(false);
    }
  });

  it('creates one image for the same bytes, even in parallel on two instances, but another one for another organization', async () => {
    const TWINS = isLong ? 5 : 3;
    const bytes = await picture();
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) =>
        send(bytes, {}, { by: client.at(api.instances[n % 2]!.origin) }),
      ),
    );
    // A key may have four parallel streams.
    const ids = answers.flatMap(({ status, body }) => (status === 429 ? [] : [body.data.imageId]));
    expect(ids.length).toBeGreaterThanOrEqual(Math.min(TWINS, 4));
    expect(new Set([...ids, await upload(bytes, { name: 'Other' })]).size).toBe(1);
    expect(await api.eventTypes(client.organizationId)).toEqual(expect.arrayContaining(['ImageUploaded']));
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ImageUploaded')).toHaveLength(1);
    const other = await api.organization();
    expect(await upload(bytes, {}, { by: other })).not.toBe(ids[0]);
  });

  it('with an Idempotency-Key, returns the first response to the same image, and 422 for another', async () => {
    const key = { 'Idempotency-Key': 'upload-1' };
    const [one, another] = [await picture(), await picture()];
    const imageId = await upload(one, {}, key);
    expect(await upload(one, {}, key)).toBe(imageId);
    expect((await send(another, {}, key)).status).toBe(422);
  });

  it('accepts a form with one file, whose name is used, and further fields', async () => {
    const bytes = await picture();
    const { body } = await sendForm(['alt', 'A form'], ['file', bytes, '../Brücke.png']);
    expect(await get(body.data.imageId)).toMatchObject({ name: 'Brücke.png', alt: 'A form' });
    const named = await sendForm(['any', await picture(), 'x.png'], ['name', 'Said']);
    expect(await get(named.body.data.imageId)).toMatchObject({ name: 'Said', alt: null });
  });

  type Rejected = [name: string, what: () => Promise<Answer>, status: number, message: RegExp];
  const large: Rejected[] = [
    ['15 MiB and one byte', () => send(Buffer.alloc(15 * 1024 * 1024 + 1)), 413, /larger than 15 MiB/],
    // More than any request may have.
    ['17 MiB', () => send(Buffer.alloc(17 * 1024 * 1024)), 413, /larger than 15 MiB/],
  ];

  it.each<Rejected>([
    ['a form without a file', () => sendForm(['alt', 'x']), 400, /contains no file/],
    [
      'a form with two files',
      async () => sendForm(['a', await picture(), 'a'], ['b', await picture(), 'b']),
      400,
      /more than one file/,
    ],
    [
      'a form with an unknown field',
      async () => sendForm(['a', await picture(), 'a'], ['x', 'y']),
      400,
      /x is not a field/,
    ],
    [
      'a form with a repeated field',
      async () => sendForm(['alt', 'y'], ['alt', 'z'], ['a', await picture(), 'a']),
      400,
      /alt must occur only once/,
    ],
    [
      'a form that ends early',
      () =>
        send(
          Buffer.from('--x\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nabc'),
          {},
          { type: 'multipart/form-data; boundary=x' },
        ),
      400,
      /is an incomplete form/,
    ],
    [
      'a form without a boundary',
      () => send(Buffer.from('abc'), {}, { type: 'multipart/form-data' }),
      400,
      /is an incomplete form/,
    ],
    [
      'a form whose file is too large',
      () => sendForm(['a', Buffer.alloc(15 * 1024 * 1024 + 1), 'a']),
      413,
      /larger than 15 MiB/,
    ],
    // `npm test` sends the form above, and `operations.e2e.spec.ts` a file.
    ...(isLong ? large : []),
    ['text', () => send(Buffer.from('Hello')), 415, /image\/jpeg, image\/png/],
    [
      'SVG declared as such',
      () => send(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), {}, { type: 'image/svg+xml' }),
      415,
      /image\/jpeg/,
    ],
    ['half a JPEG', async () => send((await photo(300, 300)).subarray(0, 9_000)), 400, /damaged/],
    ['a PNG of 200 megapixels', () => send(flat(20_000, 10_000)), 400, /too many pixels/],
    ['a long name', async () => send(await picture(), { name: 'x'.repeat(201) }), 400, /name/],
  ])('rejects %s', async (_name, what, status, message) => {
    const { status: answered, body } = await what();
    expect([answered, body.error?.message]).toEqual([status, expect.stringMatching(message)]);
    expect(await api.eventTypes(client.organizationId)).not.toContain('ImageUploaded');
  });

  it.each(
    someOf([
      ['frames', () => gif(501, 8, 8), /has too many frames: send an animation of at most 500 frames/],
      [
        'pixels in all frames',
        () => gif(60, 1_000, 1_000),
        /has too many pixels: send an animation of at most 50 megapixels across all frames/,
      ],
    ] as const),
  )('returns 400 for an animation with too many %s', async (_what, make, message) => {
    const { status, body } = await send(make(), {}, { type: 'image/gif' });
    expect([status, body.error.message]).toEqual([400, expect.stringMatching(message)]);
  });
});

describe('the files', () => {
  it('may be cached for a year, embedded elsewhere and read in ranges, with a fixed type', async () => {
    const { url, bytes } = await get(await upload(await picture(400, 300)));
    const whole = await at(url);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'",
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'content-length': String(bytes),
      etag: expect.stringMatching(/^"[\w.-]+"$/),
    });
    const file = Buffer.from(await whole.arrayBuffer());
    const etag = whole.headers.get('etag')!;
    expect((await at(url, { 'If-None-Match': etag })).status).toBe(304);
    expect((await at(url, { 'If-None-Match': `"x", W/${etag}` })).status).toBe(304);
    const head = await at(url, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes)]);
    for (const [range, from, to] of [
      ['bytes=0-9', 0, 10],
      ['bytes=10-', 10, bytes],
      ['bytes=-7', bytes - 7, bytes],
      ['bytes=5-99999999', 5, bytes],
    ] as const) {
      const part = await at(url, { Range: range });
      expect([range, part.status, part.headers.get('content-range')]).toEqual([
        range,
        206,
        `bytes ${from}-${to - 1}/${bytes}`,
      ]);
      expect(Buffer.from(await part.arrayBuffer()).equals(file.subarray(from, to))).toBe(true);
    }
    expect((await at(url, { Range: `bytes=${bytes}-` })).status).toBe(416);
    expect((await at(url, { Range: 'bytes=0-1,5-6' })).status).toBe(200);
    expect((await at(url, { Range: 'bytes=0-1', 'If-Range': '"other"' })).status).toBe(200);
  });

  it.each([
    ['/images/x/320.jpg'],
    [`/images/${'0'.repeat(64)}/320.jpg`],
    [`/images/${'0'.repeat(64)}/..%2f..%2fetc%2fpasswd`],
    [`/images/..%2f..%2f..%2fetc/320.jpg`],
  ])('returns 404 for %s, which may not be cached', async (path) => {
    const answer = await at(`https://act.example.org${path}`);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  it('are deleted with the last image that uses them, and stored again with the next upload', async () => {
    const bytes = await picture();
    const other = await api.organization();
    const [mine, theirs] = [await upload(bytes), await upload(bytes, {}, { by: other })];
    const { url } = await get(mine);
    await client.delete('image.delete-image', { imageId: mine });
    const appended = api.instances[0]!.runtime.subscriptions;
    await eventually(async () => {
      const [removals] = (await appended.status()).filter(({ name }) => name === 'image-removals');
      expect(removals!.lag).toBe(0);
    });
    expect((await at(url)).status).toBe(200);
    await other.delete('image.delete-image', { imageId: theirs });
    await eventually(async () => expect((await at(url)).status).toBe(404));
    const again = await upload(bytes);
    expect(again).not.toBe(mine);
    expect((await at(url)).status).toBe(200);
  });
});

describe('update-image, list-images', () => {
  it('changes name and alternative text, and get-image returns the previous ones with asOf', async () => {
    const imageId = await upload(await picture(), { name: 'Old', alt: 'x' });
    const before = await get(imageId);
    const asOf = await api.moment();
    const { body } = await client.post('image.update-image', { imageId, name: 'New', alt: null });
    const updatedAt = expect.stringMatching(ISO);
    expect(body.data).toEqual({ ...before, name: 'New', alt: null, updatedAt, version: 2 });
    expect(await get(imageId)).toEqual(body.data);
    expect(await get(imageId, { asOf })).toEqual(before);
  });

  it('lists images, and finds them by name or alternative text', async () => {
    const names = ['River', 'Bridge'];
    for (const name of names) await upload(await picture(), { name, alt: `A ${name} at night` });
    const list = async (query: Record<string, string>) =>
      (await client.get('image.list-images', query)).body.data.map(({ name }: { name: string }) => name);
    expect(await list({ sort: 'name' })).toEqual(['Bridge', 'River']);
    expect(await list({ q: 'bridge at' })).toEqual(['Bridge']);
    expect((await client.get('image.list-images', { limit: '1' })).body.data[0].url).toMatch(
      /^https:\/\/act\.example\.org\/images\//,
    );
  });
});

describe.each([
  ['petition', 'petitionId'],
  ['post', 'postId'],
])('a %s', (kind, idField) => {
  const create = async (fields: object) =>
    client.post(`${kind}.create-${kind}`, { name: 'Shown', ...fields });
  const read = async (id: string, query: object = {}) =>
    (await client.get(`${kind}.get-${kind}`, { [idField]: id, ...query })).body.data;

  it('shows an image of its organization everywhere, and as it was', async () => {
    const imageId = await upload(await picture(), { name: 'Bridge', alt: 'A bridge' });
    const id = (await create({ imageId })).body.data[idField];
    const { url } = await get(imageId);
    const image = { name: 'Bridge', url, alt: 'A bridge', type: 'image/jpeg' };
    expect(await read(id)).toMatchObject({ imageId, image });
    const [listed] = (await client.get(`${kind}.list-${kind}s`)).body.data;
    expect(listed.image).toEqual(image);
    const asOf = await api.moment();
    await client.post('image.update-image', { imageId, alt: 'A river' });
    expect((await read(id)).image).toEqual({ ...image, alt: 'A river' });
    expect((await read(id, { asOf })).image).toEqual(image);
    const updated = await client.post(`${kind}.update-${kind}`, { [idField]: id, title: 'Other' });
    expect(updated.body.data.image).toEqual({ ...image, alt: 'A river' });
    const without = await client.post(`${kind}.update-${kind}`, { [idField]: id, imageId: null });
    expect(without.body.data).toMatchObject({ imageId: null, image: null });
  });

  it('returns 404 for an unknown image, or one of another organization', async () => {
    const foreign = await upload(await picture(), {}, { by: await api.organization() });
    const id = (await create({})).body.data[idField];
    for (const imageId of [NOBODY, 'image-1', foreign, id]) {
      expect((await create({ imageId })).status).toBe(404);
      expect((await client.post(`${kind}.update-${kind}`, { [idField]: id, imageId })).status).toBe(404);
    }
  });

  it('with an old image reference in free text shows no image, and can still be changed', async () => {
    const id = (await create({})).body.data[idField];
    const type = `${kind[0]!.toUpperCase()}${kind.slice(1)}Updated`;
    await api.instances[0]!.runtime.store.append({
      organizationId: client.organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
      writes: [
        {
          streamType: kind,
          streamId: id,
          expectedVersion: 1,
          events: [{ type, data: { imageId: 'old.png' } }],
        },
      ],
    });
    const changed = await client.post(`${kind}.update-${kind}`, {
      [idField]: id,
      title: 'New',
      imageId: 'old.png',
    });
    expect([changed.status, changed.body.data]).toMatchObject([
      200,
      { title: 'New', imageId: 'old.png', image: null },
    ]);
  });
});

describe('delete-image', () => {
  it('returns 409 naming the uses of the image; detach removes it from all of them in the same command', async () => {
    const imageId = await upload(await picture());
    const { petitionId } = (await client.post('petition.create-petition', { name: 'River', imageId })).body
      .data;
    const { postId } = (await client.post('post.create-post', { name: 'Done', imageId })).body.data;
    const refused = await client.delete('image.delete-image', { imageId });
    expect([refused.status, refused.body.error]).toMatchObject([409, { reason: 'IMAGE_SHOWN' }]);
    const named = refused.body.error.issues.map(({ message }: { message: string }) => message).sort();
    expect(named).toEqual([
      `is used by the petition ${petitionId}, "River"`,
      `is used by the post ${postId}, "Done"`,
    ]);
    expect((await client.delete('image.delete-image', { imageId, detach: true })).status).toBe(200);
    expect((await client.get('petition.get-petition', { petitionId })).body.data).toMatchObject({
      imageId: null,
      image: null,
    });
    expect((await client.get('post.get-post', { postId })).body.data).toMatchObject({
      imageId: null,
      image: null,
    });
    expect((await client.delete('image.delete-image', { imageId })).status).toBe(200);
    expect((await client.get('image.get-image', { imageId })).status).toBe(404);
    const rows = await api.database.source.query(
      `SELECT type FROM events WHERE organization_id = $1 AND metadata->>'requestId' =
         (SELECT metadata->>'requestId' FROM events WHERE organization_id = $1 AND type = 'ImageDeleted') ORDER BY type`,
      [client.organizationId],
    );
    expect(rows.map(({ type }: { type: string }) => type)).toEqual([
      'ImageDeleted',
      'PetitionUpdated',
      'PostUpdated',
    ]);
  });

  it('removes the image from all petitions, even if others start to use it at the same moment', async () => {
    for (let n = 0; n < (isLong ? 2 : 1); n += 1) {
      const imageId = await upload(await picture());
      const work = Array.from({ length: 6 }, (_, one) =>
        client.post('petition.create-petition', { name: `${n} ${one}`, imageId }),
      );
      const deleted = client
        .at(api.instances[1]!.origin)
        .delete('image.delete-image', { imageId, detach: true });
      const statuses = (await Promise.all(work)).map(({ status }) => status);
      expect(statuses.every((status) => status === 200 || status === 404)).toBe(true);
      expect((await deleted).status).toBe(200);
      await eventually(async () => {
        const { data } = (await client.get('petition.list-petitions', { limit: '100' })).body;
        expect(data.filter((petition: { imageId: string | null }) => petition.imageId !== null)).toEqual([]);
      });
    }
  });
});

it('in a bucket: stored, served in ranges and deleted; if the store is unreachable, only uploads and files fail', async () => {
  const store = await startS3Server('images');
  let isStopped = false;
  Object.assign(process.env, store.environment);
  const environment = { STORAGE_URL: `s3://${store.bucket}/pictures` };
  const there = await Api.start({ instances: isLong ? 2 : 1, environment });
  there.startWorkers();
  try {
    const own = await there.organization();
    const [one, two] = [there.instances[0]!, there.instances.at(-1)!].map(({ origin }) => own.at(origin)) as [
      Client,
      Client,
    ];
    const bytes = await picture(400, 300);
    const imageId = await upload(bytes, {}, { by: one });
    const { url, bytes: size } = (await two.get('image.get-image', { imageId })).body.data;
    const file = (headers = {}) => fetch(two.origin + new URL(url).pathname, { headers });
    expect(Buffer.from(await (await file()).arrayBuffer())).toHaveLength(size);
    const part = await file({ Range: 'bytes=3-9' });
    expect([part.status, Buffer.from(await part.arrayBuffer()).length]).toEqual([206, 7]);
    expect(store.asked.some((asked) => asked.startsWith('PUT /images/pictures/'))).toBe(true);
    await one.delete('image.delete-image', { imageId });
    await eventually(async () => expect((await file()).status).toBe(404));

    const again = await upload(bytes, {}, { by: one });
    await store.stop();
    isStopped = true;
    const refused = await send(await picture(), {}, { by: one });
    expect([refused.status, refused.body.error.reason]).toEqual([503, 'STORAGE_UNREACHABLE']);
    expect((await file()).status).toBe(503);
    expect((await two.get('image.get-image', { imageId: again })).status).toBe(200);
    expect((await two.post('petition.create-petition', { name: 'On', imageId: again })).status).toBe(200);
  } finally {
    await there.stop();
    if (!isStopped) await store.stop();
  }
});

longDescribe('a process', () => {
  const UPLOADS = 50;
  let deployment: Deployment;
  let directory: { path: string; remove(): Promise<void> };
  let own: Client;
  beforeEach(async () => {
    deployment = await Deployment.create();
    directory = await createDirectory();
    own = await deployment.organization();
  });
  afterEach(async () => {
    await deployment.stop();
    await directory.remove();
  });

  it(`${UPLOADS} parallel uploads, including decompression bombs: others are served, with less than 400 MB of memory`, async () => {
    const server = await deployment.startServer({ DATA_DIR: directory.path });
    const there = own.at(server.origin);
    const large = await noise(6_000, 2_500).jpeg({ quality: 85 }).toBuffer();
    const kinds = [
      large,
      flat(20_000, 10_000),
      flat(7_000, 7_000),
      await photo(1_000, 800),
      Buffer.from('x'),
      Buffer.alloc(15 * 1024 * 1024 + 1),
    ];
    let isOver = false;
    const memory = highestMemory(server, () => isOver);
    const uploads = Array.from(
      { length: UPLOADS },
      async (_, n) => (await send(kinds[n % kinds.length]!, {}, { by: there })).status,
    );
    const others: number[] = [];
    const asking = (async () => {
      while (!isOver) others.push((await there.get('petition.list-petitions')).status);
    })();
    const statuses = await Promise.all(uploads);
    isOver = true;
    await asking;
    expect(statuses.filter((status) => ![200, 400, 413, 415, 429, 503].includes(status))).toEqual([]);
    expect(statuses).toContain(200);
    expect(new Set(others)).toEqual(new Set([200]));
    expect(await memory).toBeLessThan(400);
  });
});

/** The peak memory of a server and its child processes until `isOver`, in MB. */
async function highestMemory(server: ServerProcess, isOver: () => boolean): Promise<number> {
  let highest = 0;
  while (!isOver()) {
    const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')
      .trim()
      .split(/\s+/);
    const all = [server.pid, ...children.filter(Boolean).map(Number)].map(residentOf);
    highest = Math.max(
      highest,
      all.reduce((one, other) => one + other),
    );
    await sleep(20);
  }
  return highest;
}

function residentOf(pid: number): number {
  try {
    const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1_000;
  } catch {
    return 0;
  }
}
