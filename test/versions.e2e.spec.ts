import { operations } from '../src/modules.js';
import { operationOf, returnsVersion } from '#libs/rpc';
import { Fixture } from './fixture.js';
import { Api, type Client } from './harness.js';
import { OPERATIONS } from './operations.js';

let api: Api;
let client: Client;
let own: Fixture;
beforeAll(async () => {
  api = await Api.start();
  client = await api.organization();
  own = new Fixture(api, client);
});
afterAll(() => api.stop());

const conditional = operations.flatMap((input) => {
  const { name, isConditional, method } = operationOf(input)!;
  return isConditional ? [{ name, method: method as 'POST' | 'DELETE' }] : [];
});

describe('an operation that changes one record', () => {
  it('is conditional for every kind of record that can be updated', () => {
    const updates = Object.keys(OPERATIONS).filter((name) => /^(.*)\.update-\1$/.test(name));
    expect(updates.filter((name) => !conditional.some((one) => one.name === name))).toEqual([]);
    expect(updates.length).toBeGreaterThan(10);
  });

  it('is conditional if it updates a record and returns its version, whatever its service is called', () => {
    const updates = operations
      .map((input) => operationOf(input)!)
      .filter(({ name }) => name.includes('.update-'));
    const returning = updates.filter((one) => returnsVersion(one)).map(({ name }) => name);
    expect(returning.filter((name) => !conditional.some((one) => one.name === name))).toEqual([]);
    expect(returning).toContain('notification.update-settings');
  });

  it.each(conditional)('$name returns 412 for another version, and 200 for the present one', async (one) => {
    const fields = await OPERATIONS[one.name]!.ask(own);
    const send = (body: object, headers: Record<string, string> = {}) =>
      client.request(one.method, `/v1/${one.name}`, JSON.stringify(body), headers);

    const stale = await send({ ...fields, expectedVersion: 999 });
    expect([stale.status, stale.body.error.code]).toEqual([412, 'VERSION_MISMATCH']);
    const { version } = stale.body.error;
    expect(version).toEqual(expect.any(Number));
    expect(stale.headers.get('etag')).toBe(`"${version}"`);

    const byHeader = await send(fields, { 'If-Match': '"998"' });
    expect([byHeader.status, byHeader.body.error.version]).toEqual([412, version]);

    const done = await send(fields, { 'If-Match': `"${version}"` });
    expect(done.status).toBe(200);
    // The same request again: the change is there already.
    const again = await send(fields, { 'If-Match': `"${version}"` });
    expect([again.status, again.body.data]).toEqual([200, done.body.data]);
    if (done.body.data.version === undefined) return;
    expect(done.body.data.version).toBeGreaterThan(version);
    expect(done.headers.get('etag')).toBe(`"${done.body.data.version}"`);
  });
});

describe('update-post', () => {
  const update = (fields: object, headers: Record<string, string> = {}) =>
    client.post('post.update-post', fields, headers);

  it('rejects the second of two clients that have read the same version', async () => {
    const { postId } = await own.a('post');
    const read = await client.get('post.get-post', { postId: postId! });
    const ETag = read.headers.get('etag')!;
    expect(ETag).toBe(`"${read.body.data.version}"`);
    const answers = await Promise.all(
      ['One', 'Two', 'Three'].map((title) => update({ postId, title }, { 'If-Match': ETag })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412]);
    const now = await client.get('post.get-post', { postId: postId! });
    expect(now.body.data.version).toBe(read.body.data.version + 1);
    expect(now.body.data.title).toBe(answers.find(({ status }) => status === 200)!.body.data.title);
    const { body } = await client.get('post.list-posts', { limit: '1' });
    expect(body.data[0]).toMatchObject({ id: postId, version: now.body.data.version });
  });

  it('repeats its response for an Idempotency-Key, although the version has changed since', async () => {
    const { postId } = await own.a('post');
    const headers = { 'Idempotency-Key': own.unique(), 'If-Match': '"1"' };
    const first = await update({ postId, title: 'Mine' }, headers);
    await update({ postId, title: 'Theirs' });
    const again = await update({ postId, title: 'Mine' }, headers);
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([200, first.body, '"2"']);
    const other = await update({ postId, title: 'Mine' }, { ...headers, 'If-Match': '"3"' });
    expect(other.body.error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('accepts * and the weak form that proxies make of an ETag', async () => {
    const { postId } = await own.a('post');
    expect((await update({ postId, title: 'A' }, { 'If-Match': '*' })).status).toBe(200);
    expect((await update({ postId, title: 'B' }, { 'If-Match': 'W/"2"' })).status).toBe(200);
    expect((await update({ postId, title: 'C' }, { 'If-Match': 'W/"2"' })).status).toBe(412);
  });

  it.each(['3', '"x"', '"1", "2"', ''])('returns 400 for If-Match: %s', async (value) => {
    const { postId } = await own.the('post');
    const { status, body } = await update({ postId, title: 'A' }, { 'If-Match': value });
    expect([status, body.error.issues?.[0].path]).toEqual([400, 'If-Match']);
  });

  it('returns 400 if the header and the field differ', async () => {
    const { postId } = await own.the('post');
    const { status, body } = await update({ postId, expectedVersion: 1 }, { 'If-Match': '"2"' });
    expect([status, body.error.issues[0].path]).toEqual([400, 'If-Match']);
  });
});

it('an operation that cannot check a version rejects If-Match instead of ignoring it', async () => {
  const { listId } = await own.a('list');
  const { contactId } = await own.the('contact');
  const headers = { 'If-Match': '"1"' };
  const { status, body } = await client.post(
    'list.add-contacts',
    { listId, contactIds: [contactId] },
    headers,
  );
  expect([status, body.error.issues[0].path]).toEqual([400, 'If-Match']);
});

it('the version of a contact and an organization counts their changes', async () => {
  const { contactId } = await own.a('contact');
  const get = async () =>
    (await client.get('contact.get-contact', { contactId: contactId!, organizationId: own.organizationId }))
      .body.data.version;
  expect(await get()).toBe(1);
  await own.ask('contact.update-contact', { contactId, city: 'Turin' });
  expect(await get()).toBe(2);
  const { version } = await own.ask('organization.get-organization', {});
  const changed = await own.ask('organization.update-organization', { publicLog: true, replyTo: 'a@b.org' });
  expect(changed.version).toBe(Number(version) + 2);
});

it('one of two changes wins that are based on the same version, although they change different streams', async () => {
  for (const attempt of [1, 2, 3]) {
    const other = await api.organization();
    const { version } = (await other.get('organization.get-organization', {})).body.data;
    const answers = await Promise.all(
      [{ website: `https://${attempt}.example.org` }, { replyTo: 'a@b.org' }, { publicLog: true }].map(
        (fields) => other.post('organization.update-organization', { ...fields, expectedVersion: version }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412]);
  }
});

it('If-Match does not make an object of a body that is none', async () => {
  const answer = await client.request('POST', '/v1/organization.update-organization', '[]', {
    'If-Match': '"1"',
  });
  expect([answer.status, answer.body.error?.message]).toEqual([
    400,
    'The request body must be a JSON object.',
  ]);
});
