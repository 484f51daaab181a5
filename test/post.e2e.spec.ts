import { SharedApi, type Client, ISO, NOBODY } from './harness.js';
import { longIt } from './length.js';

let api: SharedApi;
let client: Client;
beforeAll(async () => {
  api = await SharedApi.open();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

async function create(fields: object = {}): Promise<string> {
  const { status, body } = await client.post('post.create-post', { name: 'We did it', ...fields });
  expect(status).toBe(200);
  return body.data.postId;
}
const get = (postId: string, query: object = {}) => client.get('post.get-post', { postId, ...query });
const move = (operation: string, postId: string) => client.post(`post.${operation}-post`, { postId });

describe('create-post', () => {
  it('returns 200 with the id, and get-post returns every field', async () => {
    const content = { blocks: [{ type: 'text', text: '€ 1' }, null, 1.5, true] };
    const { status, body } = await client.post('post.create-post', { name: ' We did it ', content });
    expect([status, body]).toEqual([200, { data: { postId: expect.any(String) }, object: 'post' }]);
    const read = await get(body.data.postId);
    expect(read.body).toEqual({
      data: {
        id: body.data.postId,
        createdAt: expect.stringMatching(ISO),
        updatedAt: expect.stringMatching(ISO),
        version: 1,
        name: 'We did it',
        title: 'We did it',
        description: null,
        imageId: null,
        organizationId: client.organizationId,
        status: 'DRAFT',
        publishedAt: null,
        image: null,
        content,
        slug: 'we-did-it',
        url: expect.stringMatching(/\/posts\/we-did-it$/),
        petitionId: null,
        publishAt: null,
      },
      object: 'post',
    });
  });

  it('returns the first id for the same body, with the default written out or omitted, and another after its deletion', async () => {
    const postId = await create();
    expect(await create({ title: 'We did it', description: null })).toBe(postId);
    await client.delete('post.delete-post', { postId });
    expect(await create()).not.toBe(postId);
  });

  it('returns the same 200 for 20 identical requests in parallel on two instances', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.at(api.instances[n % 2]!.origin).post('post.create-post', { name: 'Twin' }),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.data.postId)).size).toBe(1);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'PostCreated')).toHaveLength(1);
  });

  it.each([
    ['no name', {}, 'name'],
    ['null for the name', { name: null }, 'name'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name'],
    ['a description of 10,001 characters', { name: 'A', description: 'x'.repeat(10_001) }, 'description'],
    ['content of more than 256 KiB', { name: 'A', content: 'x'.repeat(256 * 1024) }, 'content'],
    [
      'content that is 7 KB as sent and 304 KiB as stored',
      { name: 'A', content: hugeNumbers(1_000) },
      'content',
    ],
    ['NUL in content', { name: 'A', content: { text: ['a\0'] } }, 'content'],
    ['NUL in a key of content', { name: 'A', content: { 'a\0': 1 } }, 'content'],
    ['content that is nested too deeply', { name: 'A', content: nested(100) }, 'content'],
    ['a publishAt without an offset', { name: 'A', publishAt: '2099-01-01T00:00:00' }, 'publishAt'],
    ['an unknown field', { name: 'A', status: 'PUBLISHED' }, 'status'],
  ])('returns 400 for %s', async (_, body, path) => {
    const answer = await client.post('post.create-post', body);
    expect([answer.status, answer.body.error.issues[0].path]).toEqual([400, path]);
  });

  it('returns 400 for a number beyond double precision', async () => {
    const body = '{"name": "A", "content": [{"n": 1e400}]}';
    const answer = await client.request('POST', '/v1/post.create-post', body);
    expect([answer.status, answer.body.error.issues[0].path]).toEqual([400, 'content']);
  });

  it('returns 400 for input in the query, which would be ignored', async () => {
    const answer = await client.request('POST', '/v1/post.create-post?title=B', '{"name": "A"}');
    expect([answer.status, answer.body.error.issues[0].path]).toEqual([400, 'title']);
  });

  it('accepts text that only looks like an escape sequence', async () => {
    const content = { text: String.raw`C:\u0000 \\u0000`, '\\ud800': 1 };
    const postId = await create({ content });
    expect((await get(postId)).body.data.content).toEqual(content);
  });
});

describe('update-post', () => {
  it('returns 200 with the whole post: given fields change, null clears, the rest stays', async () => {
    const postId = await create({ description: 'Long', content: [1], title: 'Kept' });
    const { status, body } = await client.post('post.update-post', {
      postId,
      description: null,
      content: { a: 1 },
    });
    expect([status, body.object]).toEqual([200, 'post']);
    expect(body.data).toMatchObject({
      name: 'We did it',
      title: 'Kept',
      description: null,
      content: { a: 1 },
    });
    expect((await get(postId)).body).toEqual(body);
  });

  it('returns 200 without an event if nothing changes', async () => {
    const postId = await create({ content: { a: [1, { b: 2 }] } });
    const before = await api.eventTypes(client.organizationId);
    const { status } = await client.post('post.update-post', {
      postId,
      name: 'We did it',
      content: { a: [1, { b: 2 }] },
    });
    expect(status).toBe(200);
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
    const zero = '{"name": "Zero", "content": {"n": -0}}';
    const { data } = (await client.request('POST', '/v1/post.create-post', zero)).body;
    const update = `{"postId": "${data.postId}", "content": {"n": -0}}`;
    await client.request('POST', '/v1/post.update-post', update);
    expect(await api.eventTypes(client.organizationId)).not.toContain('PostUpdated');
  });

  it('with an Idempotency-Key, returns the first response', async () => {
    const postId = await create();
    const headers = { 'Idempotency-Key': 'rename' };
    const first = await client.post('post.update-post', { postId, name: 'First' }, headers);
    await client.post('post.update-post', { postId, name: 'Second' });
    const again = await client.post('post.update-post', { postId, name: 'First' }, headers);
    expect(again.body).toEqual(first.body);
    const other = await client.post('post.update-post', { postId, name: 'Third' }, headers);
    expect(other.status).toBe(422);
  });
});

describe('states', () => {
  it('DRAFT → PUBLISHED → ARCHIVED → PUBLISHED, each repeat returns 200 without an event', async () => {
    const postId = await create();
    for (const [operation, status] of [
      ['publish', 'PUBLISHED'],
      ['publish', 'PUBLISHED'],
      ['archive', 'ARCHIVED'],
      ['archive', 'ARCHIVED'],
      ['publish', 'PUBLISHED'],
    ] as const) {
      const answer = await move(operation, postId);
      expect([answer.status, answer.body.data.status]).toEqual([200, status]);
      expect(answer.body).toEqual((await get(postId)).body);
    }
    const types = await api.eventTypes(client.organizationId);
    expect(types.slice(-4)).toEqual(['PostCreated', 'PostPublished', 'PostArchived', 'PostPublished']);
    expect((await get(postId)).body.data.publishedAt).toMatch(ISO);
  });

  it('returns 409 with the possible actions for archiving a draft', async () => {
    const { status, body } = await move('archive', await create());
    expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
    expect(body.error.message).toMatch(/draft.*published/);
  });

  it('asOf returns the post as it was', async () => {
    const postId = await create();
    const before = (await get(postId)).body;
    await api.moment();
    await move('publish', postId);
    expect((await get(postId, { asOf: before.data.createdAt })).body.data).toEqual(before.data);
    expect((await get(postId, { asOf: '2001-01-01T00:00:00Z' })).status).toBe(404);
  });
});

describe('publishAt', () => {
  const publishAt = '2099-01-01T00:00:00.000Z';

  it('is stored in UTC, and cancelled by null and by publishing', async () => {
    const postId = await create({ publishAt: '2099-01-01T01:00:00+01:00' });
    expect((await get(postId)).body.data).toMatchObject({ status: 'DRAFT', publishAt });
    const change = async (fields: object) =>
      (await client.post('post.update-post', { postId, ...fields })).body.data.publishAt;
    expect(await change({ publishAt: null })).toBeNull();
    expect(await change({ publishAt })).toBe(publishAt);
    expect((await move('publish', postId)).body.data).toMatchObject({ status: 'PUBLISHED', publishAt: null });
    expect((await move('archive', postId)).body.data.publishAt).toBeNull();
  });

  it('of a published post returns 409', async () => {
    const postId = await create();
    await move('publish', postId);
    const { status, body } = await client.post('post.update-post', { postId, publishAt });
    expect([status, body.error.reason]).toEqual([409, 'POST_PUBLISHED']);
  });
});

describe('petitionId', () => {
  const petition = async (from = client) =>
    (await from.post('petition.create-petition', { name: 'River' })).body.data.petitionId as string;

  it('is set, cleared, and filters list-posts', async () => {
    const petitionId = await petition();
    const postId = await create({ petitionId });
    await create({ name: 'About something else' });
    const { body } = await client.get('post.list-posts', { petitionId });
    expect(body.data).toMatchObject([{ id: postId, petitionId }]);
    const cleared = await client.post('post.update-post', { postId, petitionId: null });
    expect(cleared.body.data.petitionId).toBeNull();
    expect((await client.get('post.list-posts', { petitionId })).body.data).toEqual([]);
  });

  it('of another organization, or of no petition, returns 404', async () => {
    const foreign = await petition(await api.organization());
    for (const petitionId of [foreign, NOBODY, 'x']) {
      const { status, body } = await client.post('post.create-post', { name: 'A', petitionId });
      expect([status, body.error.message]).toEqual([404, expect.stringContaining('petition')]);
      expect((await client.get('post.list-posts', { petitionId })).status).toBe(404);
    }
  });
});

describe('delete-post', () => {
  it('returns 200 with the id, even for repeats, and the post no longer exists', async () => {
    const postId = await create();
    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await client.delete('post.delete-post', { postId });
      expect([status, body]).toEqual([200, { data: { postId }, object: 'post' }]);
    }
    expect((await get(postId)).status).toBe(404);
    expect((await move('publish', postId)).status).toBe(404);
    expect((await client.get('post.list-posts')).body.data).toEqual([]);
  });
});

describe('list-posts', () => {
  it('filters by status and text, sorts by name and paginates', async () => {
    const published = await create({ name: 'Banana bread' });
    await move('publish', published);
    await create({ name: 'Apple pie', title: 'Nothing with bread' });
    await create({ name: 'Cherry cake' });
    const names = async (query: Record<string, string>) =>
      (await client.get('post.list-posts', query)).body.data.map(({ name }: { name: string }) => name);
    expect(await names({ status: 'PUBLISHED' })).toEqual(['Banana bread']);
    expect(await names({ q: 'BREAD', sort: 'name' })).toEqual(['Apple pie', 'Banana bread']);
    const first = await client.get('post.list-posts', { sort: '-name', limit: '2' });
    expect(first.body).toMatchObject({ object: 'posts', pagination: { hasMore: true } });
    expect(await names({ sort: '-name', limit: '2', cursor: first.body.pagination.cursor })).toEqual([
      'Apple pie',
    ]);
    expect((await client.get('post.list-posts', { status: 'OPEN' })).status).toBe(400);
  });

  it('omits content unless it is requested', async () => {
    const content = [1e300, { 'ä"': null }];
    const postId = await create({ name: 'Wide', content });
    const [listed] = (await client.get('post.list-posts')).body.data;
    const [whole] = (await client.get('post.list-posts', { include: 'content' })).body.data;
    expect(listed).not.toHaveProperty('content');
    expect(whole).toEqual({ ...listed, content });
    expect(whole).toEqual((await client.get('post.get-post', { postId })).body.data);
    expect((await client.get('post.list-posts', { include: 'image' })).status).toBe(400);
  });

  longIt('ends pages of large records early, and reports that more exist', async () => {
    const names = Array.from({ length: 10 }, (_, n) => `Wide ${n}`);
    for (const name of names) await create({ name, content: 'x'.repeat(250_000) });
    const query = { include: 'content', sort: 'name', limit: '100' };
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await client.get('post.list-posts', { ...query, ...(cursor ? { cursor } : {}) });
      expect(JSON.stringify(body).length).toBeLessThan(1.1 * 1024 * 1024);
      seen.push(...body.data.map(({ name }: { name: string }) => name));
      expect(body.pagination.hasMore).toBe(body.pagination.cursor !== null);
      cursor = body.pagination.cursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(names);
    const { body } = await client.get('post.list-posts', { sort: 'name', limit: '100' });
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(names);
  });
});

it('returns 404 for a post of another organization', async () => {
  const postId = await create();
  const other = await api.organization();
  for (const id of [postId, NOBODY, 'x']) {
    const answers = await Promise.all([
      other.get('post.get-post', { postId: id }),
      other.post('post.update-post', { postId: id, name: 'Mine' }),
      other.post('post.publish-post', { postId: id }),
      other.post('post.archive-post', { postId: id }),
      other.delete('post.delete-post', { postId: id }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  }
  expect((await other.get('post.list-posts')).body.data).toEqual([]);
  const { organizationId } = client;
  expect((await other.post('post.create-post', { name: 'A', organizationId })).body.error.code).toBe(
    'FORBIDDEN',
  );
});

function hugeNumbers(count: number): number[] {
  return Array.from({ length: count }, () => 1e308);
}

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}
