import { type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { DataSource } from 'typeorm';
import { Api, type Client, type Instance, ISO, NOBODY } from './harness.js';
import { eventually } from './processes.js';
import { Receiver, type Delivery } from './receiver.js';

let api: Api;
let client: Client;
let receiver: Receiver;
/** The receiver's responses by path. */
const answers = new Map<string, (delivery: Delivery, response: ServerResponse) => void>();
beforeAll(async () => {
  api = await Api.start({ instances: 2, environment: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  for (const { workers } of api.instances) workers.start();
  receiver = await Receiver.start((delivery, response) => {
    const answer = answers.get(delivery.path.slice(1));
    if (answer) answer(delivery, response);
    else response.end('thanks');
  });
});
afterAll(async () => {
  await api.stop();
  await receiver.stop();
});
beforeEach(async () => {
  client = await api.organization();
});

let paths = 0;
/** Creates a webhook with its own path. */
async function create(fields: object = {}, by = client) {
  const path = `hook-${++paths}`;
  const { status, body } = await by.post('webhook.create-webhook', { url: receiver.at(path), ...fields });
  expect([status, body.object]).toEqual([200, 'webhook']);
  const { webhookId, secret } = body.data as { webhookId: string; secret: string };
  return { path, webhookId, secret };
}
const get = (webhookId: string, more = {}) => client.get('webhook.get-webhook', { webhookId, ...more });
let markers = 0;
const makeList = async (name: string): Promise<string> =>
  (await client.post('list.create-list', { name })).body.data.listId;
const fail = (_: Delivery, response: ServerResponse) => void response.writeHead(500).end('no');
const typesAt = (path: string) => receiver.of(path).map(({ body }) => body.type);
const sql = <Row>(text: string, values: unknown[] = []) => api.database.source.query<Row[]>(text, values);
async function deliveries(webhookId: string, by = client) {
  return (await by.get('webhook.list-deliveries', { webhookId })).body.data;
}

/** Makes waiting attempts due now, except those in flight. */
const retryNow = (webhookId: string) =>
  sql(
    `UPDATE webhook_retries r SET due_at = clock_timestamp() WHERE webhook_id = $1 AND due_at IS NOT NULL AND attempts =
       (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = r.webhook_id AND d.event_id = r.event_id)`,
    [webhookId],
  );
/** Waits until no attempt of the webhook is in flight. */
const isAtRest = (webhookId: string) =>
  eventually(async () => {
    const underWay = await sql(
      `SELECT FROM webhook_cursors WHERE webhook_id = $1 AND holder IS NOT NULL
       UNION ALL SELECT FROM webhook_retries r WHERE webhook_id = $1 AND attempts <>
         (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = r.webhook_id AND d.event_id = r.event_id)`,
      [webhookId],
    );
    expect(underWay).toEqual([]);
  });
/** Waits until all earlier requests and events of the webhook are sent. @returns the id of a list created last. */
async function caughtUp(webhookId: string): Promise<string> {
  const [before] = await sql<{ position: string }>('SELECT max(position) AS position FROM events');
  await eventually(async () => {
    const [follows] = await sql<{ position: string }>(
      `SELECT position FROM subscriptions WHERE name = 'webhook-cursors'`,
    );
    expect(Number(follows!.position)).toBeGreaterThanOrEqual(Number(before!.position));
  });
  const listId = await makeList(`Marker ${++markers}`);
  const [made] = await sql<{ position: string }>('SELECT position FROM events WHERE stream_id = $1', [
    listId,
  ]);
  await eventually(async () => {
    // The position moves after all attempts of a page have ended.
    const [cursor] = await sql<{ position: string }>(
      'SELECT position FROM webhook_cursors WHERE webhook_id = $1 AND holder IS NULL',
      [webhookId],
    );
    expect(Number(cursor?.position)).toBeGreaterThanOrEqual(Number(made!.position));
    expect(await sql('SELECT FROM webhook_retries WHERE webhook_id = $1', [webhookId])).toEqual([]);
  });
  return listId;
}
/** Waits until another webhook has received two new lists, by when the senders have had two rounds. */
async function othersAreSent(witness: { path: string }): Promise<void> {
  for (let n = 0; n < 2; n += 1) {
    const listId = await makeList(`Marker ${++markers}`);
    await eventually(() =>
      expect(receiver.of(witness.path).map(({ body }) => body.recordId)).toContain(listId),
    );
  }
}

it('create-webhook returns 200 with the secret once, and get-webhook returns every field', async () => {
  const fields = { description: ' For the archive ', eventTypes: ['ListUpdated', 'ListCreated'] };
  const { webhookId, secret, path } = await create(fields);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const again = { url: receiver.at(path), ...fields, eventTypes: fields.eventTypes.toReversed() };
  expect((await client.post('webhook.create-webhook', again)).body.data).toEqual({ webhookId, secret: null });
  await eventually(async () => expect((await get(webhookId)).body.data.position).not.toBeNull());
  expect((await get(webhookId)).body).toEqual({
    data: {
      id: webhookId,
      createdAt: expect.stringMatching(ISO),
      updatedAt: expect.stringMatching(ISO),
      version: 1,
      url: receiver.at(path),
      description: 'For the archive',
      eventTypes: ['ListCreated', 'ListUpdated'],
      expand: [],
      personalData: true,
      status: 'ACTIVE',
      position: expect.any(Number),
      lag: expect.any(Number),
      lastDelivery: null,
      organizationId: client.organizationId,
    },
    object: 'webhook',
  });
  // No event and no table contains the secret.
  for (const table of ['events', 'webhooks_v2.webhooks', 'webhook_cursors', 'idempotency_keys']) {
    const rows = await sql(`SELECT FROM ${table} t WHERE t::text LIKE '%' || $1 || '%'`, [
      secret.slice(6, 40),
    ]);
    expect([table, rows]).toEqual([table, []]);
  }
});

it('events are sent as get-event shows them, signed, in order, and only those of the organization', async () => {
  const other = await api.organization();
  const { webhookId, path, secret } = await create();
  const ids: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    ids.push(await makeList(`${n}`));
    await other.post('list.create-list', { name: `${n}` });
  }
  await client.post('contact.create-contact', {
    organizationId: client.organizationId,
    email: 'ada@example.org',
  });
  await eventually(() => expect(receiver.of(path)).toHaveLength(21));
  const received = receiver.of(path);
  const of = (type: string) => received.filter(({ body }) => body.type === type);
  expect(
    of('ListCreated')
      .map(({ body }) => body.recordId)
      .toSorted(),
  ).toEqual(ids.toSorted());
  const at = received.map(({ body }) => body.position);
  // Attempts begin in order, eight in parallel. So at most seven that began earlier can arrive later.
  for (const [n, position] of at.entries()) {
    expect(at.slice(n + 1).filter((later) => later < position).length).toBeLessThanOrEqual(7);
  }
  for (const { id, headers, text, body } of received) {
    const { body: shown } = await client.get('history.get-event', { eventId: id });
    expect(body).toEqual({ ...shown.data, organizationId: client.organizationId });
    expect(new StandardWebhook(secret).verify(text, headers as Record<string, string>)).toEqual(body);
    expect(headers['content-type']).toBe('application/json');
  }
  expect(of('ContactCreated')[0]!.body.data.personal).toMatchObject({ email: 'ada@example.org' });
  await eventually(async () => {
    const { data } = (await get(webhookId)).body;
    expect(data).toMatchObject({ lastDelivery: { outcome: 'DELIVERED', statusCode: 200 } });
  });
});

it('eventTypes limits the events, and an unknown type returns 400 with all known types', async () => {
  const { path } = await create({ eventTypes: ['ListDeleted'] });
  const listId = await makeList('a');
  await client.delete('list.delete-list', { listId });
  await eventually(() => expect(typesAt(path)).toEqual(['ListDeleted']));

  const { body: types } = await client.get('webhook.list-event-types');
  const names = types.data.map(({ type }: { type: string }) => type);
  expect(names).toEqual(names.toSorted());
  expect(types.data).toContainEqual({ type: 'ListDeleted', recordType: 'list', internal: false });
  expect(types.data).toContainEqual({ type: 'WebhookDisabled', recordType: 'webhook', internal: false });
  const stored = { type: 'ImageFilesStored', recordType: 'image-files', internal: true };
  expect(types.data).not.toContainEqual(stored);
  const { body: all } = await client.get('webhook.list-event-types', { internal: 'true' });
  expect(all.data).toContainEqual(stored);
  // A webhook can still name them.
  await create({ eventTypes: [stored.type] });
  for (const eventTypes of [['ListVanished'], [], 'ListDeleted', [7]]) {
    const { status, body } = await client.post('webhook.create-webhook', {
      url: receiver.at('x'),
      eventTypes,
    });
    expect([status, body.error.issues[0].path]).toEqual([400, 'eventTypes']);
    for (const name of names) expect(body.error.message).toContain(name);
  }
});

it.each(
  [
    'ftp://example.org/',
    'https://ada:secret@example.org/',
    'example.org',
    'https://example.org/' + 'x'.repeat(2_000),
  ].map((url) => [url.slice(0, 40), url] as const),
)('create-webhook and update-webhook return 400 for the URL %s', async (_, url) => {
  const { webhookId } = await create();
  for (const answer of [
    await client.post('webhook.create-webhook', { url }),
    await client.post('webhook.update-webhook', { webhookId, url }),
  ]) {
    expect([answer.status, answer.body.error.issues[0].path]).toEqual([400, 'url']);
  }
});

it.each([
  'http://example.org/',
  'https://127.0.0.1/',
  'https://10.0.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://2130706433/',
  'https://0177.0.0.1/',
  'https://0x7f.1/',
  'https://localhost/',
])('without WEBHOOK_ALLOW_PRIVATE, returns 400 for %s without details of the network', async (url) => {
  strict ??= api.addInstance({ WEBHOOK_ALLOW_PRIVATE: 'false' });
  const by = client.at((await strict).origin);
  const { status, body } = await by.post('webhook.create-webhook', { url });
  expect([status, body.error.issues]).toEqual([
    400,
    [
      {
        path: 'url',
        message:
          'is not allowed: it must be an https address on the Internet. To receive events on your own machine, use the command listen',
      },
    ],
  ]);
});
let strict: Promise<Instance> | undefined;

it('a key without history:read gets no personal data, even by changing a webhook that receives it', async () => {
  const { key } = await api.createKey(client.organizationId, { scopes: ['webhook:read', 'webhook:write'] });
  const weak = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { key }) as Client;
  const { path, webhookId } = await create({}, weak);
  const strong = await create();
  await client.post('contact.create-contact', {
    organizationId: client.organizationId,
    email: 'ada@example.org',
  });
  await eventually(() => expect(typesAt(path)).toContain('ContactCreated'));
  await eventually(() => expect(typesAt(strong.path)).toContain('ContactCreated'));
  const created = receiver.of(path).find(({ body }) => body.type === 'ContactCreated')!;
  expect(created.body.data.personal).toBeNull();
  expect(
    receiver
      .of(path)
      .map(({ text }) => text)
      .join(),
  ).not.toContain('ada@');
  expect((await get(webhookId)).body.data.personalData).toBe(false);

  for (const fields of [{ url: receiver.at('thief') }, { eventTypes: ['ContactCreated'] }]) {
    const { status, body } = await weak.post('webhook.update-webhook', {
      webhookId: strong.webhookId,
      ...fields,
    });
    expect([status, body.error.reason]).toEqual([403, 'SCOPE_MISSING']);
    expect((await weak.post('webhook.update-webhook', { webhookId, ...fields })).status).toBe(200);
  }
  const described = { webhookId: strong.webhookId, description: 'x' };
  expect((await weak.post('webhook.update-webhook', described)).status).toBe(200);
  // The responses of receivers about a person are hidden, too.
  const [shown] = (await deliveries(strong.webhookId)).filter(
    ({ type }: { type: string }) => type === 'ContactCreated',
  );
  const [hidden] = (await deliveries(strong.webhookId, weak)).filter(
    ({ type }: { type: string }) => type === 'ContactCreated',
  );
  expect([shown.answer, hidden.answer]).toEqual(['thanks', null]);
});

it('expand adds the contact and the petition of an event as they are now, and null once they no longer exist', async () => {
  const { path, webhookId } = await create({ expand: ['petition', 'contact'] });
  const plain = await create();
  expect((await get(webhookId)).body.data.expand).toEqual(['contact', 'petition']);
  expect((await get(plain.webhookId)).body.data.expand).toEqual([]);
  const { contactId } = (
    await client.post('contact.create-contact', {
      organizationId: client.organizationId,
      email: 'ada@example.org',
    })
  ).body.data;
  const { petitionId } = (
    await client.post('petition.create-petition', { name: 'Trees', title: 'Plant trees' })
  ).body.data;
  await client.post('petition.publish-petition', { petitionId });
  const signed = await client.post('petition.add-signature', { petitionId, contactId });
  expect(signed.status).toBe(200);
  const { tagId } = (await client.post('tag.create-tag', { name: 'volunteer' })).body.data;
  await client.post('tag.add-contacts', { tagId, contactIds: [contactId] });
  await eventually(() =>
    expect(typesAt(path)).toEqual(expect.arrayContaining(['PetitionSigned', 'ContactTagged'])),
  );
  const of = (type: string, at = path) => receiver.of(at).filter(({ body }) => body.type === type);

  const contact = (
    await client.get('contact.get-contact', { organizationId: client.organizationId, contactId })
  ).body.data;
  const petition = (await client.get('petition.get-petition', { petitionId })).body.data;
  const [{ body: signature }] = of('PetitionSigned') as [Delivery];
  expect(signature.contact).toEqual(contact);
  expect(signature.petition).toMatchObject({ id: petitionId, title: 'Plant trees', url: petition.url });
  const [{ body: created }] = of('ContactCreated') as [Delivery];
  expect([created.contact.id, created.petition]).toEqual([contactId, null]);
  const [{ body: tag }] = of('TagCreated') as [Delivery];
  expect([tag.contact, tag.petition]).toEqual([null, null]);
  expect(of('PetitionSigned', plain.path)[0]!.body).not.toHaveProperty('contact');

  // The receiver may repeat the records in its response, so that is not kept.
  const answerTo = async (type: string) =>
    (await deliveries(webhookId)).find((delivery: { type: string }) => delivery.type === type)?.answer;
  await eventually(async () => expect(await answerTo('TagCreated')).toBe('thanks'));
  for (const type of ['ContactTagged', 'PetitionPublished']) expect(await answerTo(type)).toBeNull();

  await client.delete('contact.delete-contact', { contactId });
  await client.post('petition.close-petition', { petitionId });
  expect((await client.delete('petition.delete-petition', { petitionId })).status).toBe(200);
  await client.post('webhook.redeliver', { webhookId, eventId: signature.id });
  await eventually(() => expect(of('PetitionSigned')).toHaveLength(2));
  const again = of('PetitionSigned')[1]!.body;
  expect([again.contact, again.petition]).toEqual([null, null]);
});

it('expand needs the scopes of its records, and so does changing where they are sent', async () => {
  const { key } = await api.createKey(client.organizationId, {
    scopes: ['webhook:read', 'webhook:write', 'history:read', 'petition:read'],
  });
  const weak = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { key }) as Client;
  const { webhookId } = await create({ expand: ['contact'] });
  const url = receiver.at('thief');
  for (const fields of [{ url }, { eventTypes: ['ContactCreated'] }, { expand: ['contact'] }]) {
    const { status, body } = await weak.post('webhook.update-webhook', { webhookId, ...fields });
    expect([status, body.error.reason, body.error.message]).toEqual([
      403,
      'SCOPE_MISSING',
      expect.stringContaining('contact:read'),
    ]);
  }
  const made = await weak.post('webhook.create-webhook', { url, expand: ['contact'] });
  expect([made.status, made.body.error.reason]).toEqual([403, 'SCOPE_MISSING']);
  expect((await weak.post('webhook.create-webhook', { url, expand: ['petition'] })).status).toBe(200);
  const wrong = await client.post('webhook.update-webhook', { webhookId, expand: ['tags'] });
  expect([wrong.status, wrong.body.error.message]).toEqual([
    400,
    'expand must be a list of: contact, petition.',
  ]);
  // The order of the words does not matter, as for eventTypes.
  const pair = (expand: string[]) => ({ url: receiver.at('pair'), expand });
  const one = (await client.post('webhook.create-webhook', pair(['contact', 'petition']))).body.data;
  const other = (await client.post('webhook.create-webhook', pair(['petition', 'contact']))).body.data;
  expect(other.webhookId).toBe(one.webhookId);

  // A change of expand alone is a new version, and repeating it changes nothing.
  const before = (await get(webhookId)).body.data;
  const change = { webhookId, expand: ['petition', 'contact'] };
  const changed = (await client.post('webhook.update-webhook', change)).body.data;
  expect(changed).toMatchObject({ expand: ['contact', 'petition'], version: before.version + 1 });
  const repeated = (
    await client.post('webhook.update-webhook', { ...change, expand: ['contact', 'petition'] })
  ).body;
  expect(repeated.data.version).toBe(changed.version);
  const stale = { webhookId, expand: [], expectedVersion: before.version };
  const rejected = await client.post('webhook.update-webhook', stale);
  expect([rejected.status, rejected.body.error.code]).toEqual([412, 'VERSION_MISMATCH']);
  expect((await get(webhookId, { asOf: before.updatedAt })).body.data.expand).toEqual(['contact']);
  // Once it delivers no contacts, the other key can change it.
  await client.post('webhook.update-webhook', { webhookId, expand: [] });
  expect((await weak.post('webhook.update-webhook', { webhookId, url: receiver.at('moved') })).status).toBe(
    200,
  );
});

it('failed events are retried with the same id while others continue, and the status is FAILING until one succeeds', async () => {
  let fails = true;
  const { path, webhookId } = await create({ eventTypes: ['ListCreated'] });
  answers.set(path, (delivery, response) => {
    if (fails && delivery.body.data.name === 'bad') fail(delivery, response);
    else response.end();
  });
  const bad = await makeList('bad');
  await eventually(() => expect(receiver.of(path)).toHaveLength(1));
  await eventually(async () => expect((await get(webhookId)).body.data.status).toBe('FAILING'));
  expect((await client.get('webhook.list-webhooks')).body.data[0].status).toBe('FAILING');
  await makeList('good');
  await eventually(() => expect(receiver.of(path).map(({ body }) => body.data.name)).toContain('good'));
  fails = false;
  await eventually(async () =>
    expect(await sql('SELECT FROM webhook_retries WHERE webhook_id = $1', [webhookId])).toEqual([]),
  );
  await eventually(async () => expect((await get(webhookId)).body.data.status).toBe('ACTIVE'));
  const attempts = receiver.of(path).filter(({ body }) => body.recordId === bad);
  expect(attempts.length).toBeGreaterThan(1);
  expect(new Set(attempts.map(({ id }) => id)).size).toBe(1);
  const logged = (await deliveries(webhookId)).filter(({ eventId }: any) => eventId === attempts[0]!.id);
  expect(logged.at(-1)).toMatchObject({ attempt: 1, outcome: 'FAILED', statusCode: 500, answer: 'no' });
  expect(logged[0]).toMatchObject({
    attempt: attempts.length,
    outcome: 'DELIVERED',
    statusCode: 200,
    answer: null,
  });
  expect(logged[0].createdAt).toMatch(ISO);
});

it('an event that failed eight times is dead-lettered, and redeliver sends it again', async () => {
  const { path, webhookId } = await create({ eventTypes: ['ListCreated'] });
  answers.set(path, fail);
  await makeList('a');
  await eventually(() => expect(receiver.of(path)).toHaveLength(1));
  // Replaces nine hours of waiting.
  await eventually(async () => {
    await retryNow(webhookId);
    expect((await deliveries(webhookId))[0]).toMatchObject({ attempt: 8, outcome: 'PARKED' });
  });
  const { id: eventId } = receiver.of(path)[0]!;
  const attemptsAt = (id: string) => receiver.of(path).filter((delivery) => delivery.id === id).length;
  expect(attemptsAt(eventId)).toBe(8);
  // Other waiting events are retried, but the dead letter is not.
  const listId = await makeList('b');
  const ofOther = () => receiver.of(path).filter(({ body }) => body.recordId === listId);
  await eventually(async () => {
    await retryNow(webhookId);
    expect(ofOther().length).toBeGreaterThanOrEqual(2);
  });
  await isAtRest(webhookId);
  expect(attemptsAt(eventId)).toBe(8);

  answers.delete(path);
  const headers = { 'Idempotency-Key': 'once' };
  for (let n = 0; n < 2; n += 1) {
    expect((await client.post('webhook.redeliver', { webhookId, eventId }, headers)).status).toBe(200);
  }
  await eventually(() => expect(attemptsAt(eventId)).toBe(9));
  const { id: otherId } = ofOther()[0]!;
  expect((await client.post('webhook.redeliver', { webhookId, eventId: otherId })).status).toBe(200);
  await caughtUp(webhookId);
  expect(attemptsAt(eventId)).toBe(9);
  expect((await client.post('webhook.redeliver', { webhookId, eventId: NOBODY })).status).toBe(404);
});

it('pause-webhook stops sending, and resume-webhook continues where it stopped', async () => {
  const { path, webhookId } = await create({ eventTypes: ['ListCreated'] });
  const witness = await create({ eventTypes: ['ListCreated'] });
  await makeList('before');
  await eventually(() => expect(receiver.of(path)).toHaveLength(1));
  for (let n = 0; n < 2; n += 1) {
    const { body } = await client.post('webhook.pause-webhook', { webhookId });
    expect(body.data).toMatchObject({ status: 'PAUSED', position: null, lag: null, lastDelivery: null });
  }
  for (let n = 0; n < 5; n += 1) await makeList(`${n}`);
  await othersAreSent(witness);
  expect(receiver.of(path)).toHaveLength(1);
  const meanwhile = receiver.of(witness.path).map(({ body: event }) => event.recordId);
  const paused = (await get(webhookId)).body.data;
  expect(paused.status).toBe('PAUSED');
  expect(paused.lag).toBeGreaterThanOrEqual(5);
  const { body } = await client.post('webhook.resume-webhook', { webhookId });
  expect(body.data.status).toBe('ACTIVE');
  await eventually(() => expect(receiver.of(path)).toHaveLength(meanwhile.length));
  const received = receiver.of(path).map(({ body: event }) => event.recordId);
  expect(received.toSorted()).toEqual(meanwhile.toSorted());
});

it('rotate-secret signs with the previous secrets during the overlap, and then only with the new one', async () => {
  const { path, webhookId, secret } = await create();
  const headers = { 'Idempotency-Key': 'rotation' };
  const rotate = (overlapSeconds: number, more = {}) =>
    client.post('webhook.rotate-secret', { webhookId, overlapSeconds }, more);
  const { body } = await rotate(3_600, headers);
  const next = body.data.secret;
  expect(next).not.toBe(secret);
  expect((await rotate(3_600, headers)).body.data).toEqual({ webhookId, secret: null });
  expect((await client.post('webhook.test-webhook', { webhookId })).body.data.delivered).toBe(true);
  const verify = (delivery: Delivery, by: string) => {
    try {
      new StandardWebhook(by).verify(delivery.text, delivery.headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };
  const test = () => receiver.of(path).findLast(({ body: event }) => event.type === 'webhook.test')!;
  expect([verify(test(), secret), verify(test(), next)]).toEqual([true, true]);
  // A caller who lost that response rotates again, while the receiver still has the first secret.
  const another = (await rotate(3_600)).body.data.secret;
  await client.post('webhook.test-webhook', { webhookId });
  expect([secret, next, another].map((one) => verify(test(), one))).toEqual([true, true, true]);
  const last = (await rotate(0)).body.data.secret;
  await client.post('webhook.test-webhook', { webhookId });
  expect([secret, next, another, last].map((one) => verify(test(), one))).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

it('test-webhook sends immediately and returns the result, once per Idempotency-Key', async () => {
  const { path, webhookId } = await create({ eventTypes: ['ListCreated'] });
  await client.post('webhook.pause-webhook', { webhookId });
  const headers = { 'Idempotency-Key': 'test' };
  for (let n = 0; n < 2; n += 1) {
    const { status, body } = await client.post('webhook.test-webhook', { webhookId }, headers);
    expect([status, body]).toEqual([
      200,
      {
        data: { webhookId, delivered: true, statusCode: 200, ms: expect.any(Number), reason: null },
        object: 'test',
      },
    ]);
  }
  expect(receiver.of(path)).toHaveLength(1);
  expect(receiver.of(path)[0]!.body).toMatchObject({
    type: 'webhook.test',
    organizationId: client.organizationId,
    recordId: webhookId,
    data: {},
  });
  answers.set(path, (_, response) => void response.writeHead(302, { location: receiver.at('other') }).end());
  const { body } = await client.post('webhook.test-webhook', { webhookId });
  expect(body.data).toMatchObject({ delivered: false, statusCode: 302, reason: expect.any(String) });
  expect(receiver.of('other')).toEqual([]);
});

it('replay-webhook sends exactly the events after a position or from a time, once per Idempotency-Key', async () => {
  for (let n = 0; n < 10; n += 1) await makeList(`before ${n}`);
  const { path, webhookId } = await create({ eventTypes: ['ListCreated'] });
  for (let n = 0; n < 10; n += 1) await makeList(`after ${n}`);
  await eventually(() => expect(receiver.of(path)).toHaveLength(10));
  const historyNow = async () =>
    (await client.get('history.list-events', { type: 'ListCreated', limit: '100' })).body.data;
  const { position, occurredAt } = (await historyNow()).find(({ data }: any) => data.name === 'before 5');

  const replayed = async (from: object, isMeant: (event: any) => boolean) => {
    const meant = (await historyNow()).filter(isMeant).map(({ recordId }: any) => recordId);
    const before = receiver.of(path).length;
    for (let n = 0; n < 2; n += 1) {
      const headers = { 'Idempotency-Key': JSON.stringify(from) };
      const { status, body } = await client.post('webhook.replay-webhook', { webhookId, ...from }, headers);
      expect([status, body.data.id]).toEqual([200, webhookId]);
    }
    const last = await caughtUp(webhookId);
    const received = receiver.of(path).slice(before);
    expect(received.map(({ body }) => body.recordId).toSorted()).toEqual([...meant, last].toSorted());
  };
  await replayed({ fromPosition: position }, (event) => event.position > position);
  await replayed({ from: occurredAt }, (event) => event.occurredAt >= occurredAt);
  await replayed({ fromPosition: 0 }, () => true);
  // A replay skips no unsent event.
  const far = { webhookId, fromPosition: Number.MAX_SAFE_INTEGER };
  expect((await client.post('webhook.replay-webhook', far)).status).toBe(200);
  const sent = receiver.of(path).length;
  await caughtUp(webhookId);
  expect(receiver.of(path)).toHaveLength(sent + 1);

  for (const wrong of [{}, { fromPosition: 1, from: occurredAt }, { fromPosition: -1 }, { from: 'then' }]) {
    expect((await client.post('webhook.replay-webhook', { webhookId, ...wrong })).status).toBe(400);
  }
});

it('three days of failures disable the webhook with an event, and resume-webhook continues where it stopped', async () => {
  const { path, webhookId } = await create({ eventTypes: ['ListCreated'] });
  const witness = await create({ eventTypes: ['ListCreated'] });
  answers.set(path, fail);
  await makeList('a');
  await eventually(async () => expect((await get(webhookId)).body.data.status).toBe('FAILING'));
  await sql(
    `UPDATE webhook_cursors SET failing_since = clock_timestamp() - interval '73 hours' WHERE webhook_id = $1`,
    [webhookId],
  );
  // Earlier failures do not count.
  await makeList('b');
  // Two instances process one attempt at a time each. After three attempts, at least one is fully processed.
  for (let n = 0; n < 3; n += 1) {
    const { length } = await deliveries(webhookId);
    await eventually(async () => {
      await retryNow(webhookId);
      expect((await deliveries(webhookId)).length).toBeGreaterThan(length);
    });
  }
  expect((await get(webhookId)).body.data.status).toBe('FAILING');
  await sql(
    `UPDATE webhooks_v2.webhooks SET state = state || '{"countsSince": "2020-01-01T00:00:00.000Z"}' WHERE id = $1`,
    [webhookId],
  );
  await makeList('c');
  await eventually(async () => {
    await retryNow(webhookId);
    expect((await get(webhookId)).body.data.status).toBe('DISABLED');
  });
  await isAtRest(webhookId);
  const sent = receiver.of(path).length;
  await makeList('d');
  await retryNow(webhookId);
  await othersAreSent(witness);
  expect(receiver.of(path)).toHaveLength(sent);
  expect(await api.eventTypes(client.organizationId)).toContain('WebhookDisabled');

  answers.delete(path);
  await client.post('webhook.resume-webhook', { webhookId });
  await sql(`UPDATE webhook_retries SET due_at = clock_timestamp() WHERE webhook_id = $1`, [webhookId]);
  await eventually(() =>
    expect(receiver.of(path).map(({ body }) => body.data.name)).toEqual(
      expect.arrayContaining(['a', 'b', 'c', 'd']),
    ),
  );
  await eventually(async () => expect((await get(webhookId)).body.data.status).toBe('ACTIVE'));
});

it('waiting events follow soon after a receiver returns, but no attempt within a second of the previous one', async () => {
  const { webhookId, path } = await create();
  await makeList('first');
  await eventually(() => expect(receiver.of(path)).toHaveLength(1));
  await isAtRest(webhookId);
  // As after a downtime of an hour: a hundred events wait for a later attempt.
  await sql(
    `UPDATE webhook_cursors SET failing_since = clock_timestamp() - interval '1 hour' WHERE webhook_id = $1`,
    [webhookId],
  );
  await sql(
    `INSERT INTO webhook_retries (webhook_id, position, event_id, attempts, due_at)
     SELECT $1, 1000000000 + n, gen_random_uuid(), 3, clock_timestamp() + interval '1 hour' FROM generate_series(1, 100) n`,
    [webhookId],
  );
  const [now] = await sql<{ before: string }>('SELECT clock_timestamp()::text AS before');
  const { before } = now!;
  await makeList('second');
  const dueWithin = async (seconds: number) =>
    (
      await sql<{ count: number }>(
        `SELECT count(*)::int FROM webhook_retries
         WHERE webhook_id = $1 AND due_at < $2::timestamptz + make_interval(secs => $3)`,
        [webhookId, before, seconds],
      )
    )[0]!.count;
  await eventually(async () => expect(await dueWithin(3_000)).toBe(100));
  expect(await dueWithin(1)).toBe(0);
});

it('a response that contains a person’s address disappears from the delivery log when the person is erased', async () => {
  const { path, webhookId } = await create({ eventTypes: ['ContactCreated', 'ContactErased'] });
  answers.set(path, (delivery, response) => void response.end(`seen: ${delivery.text}`));
  const email = 'lovelace-4711@example.org';
  const { contactId } = (
    await client.post('contact.create-contact', { organizationId: client.organizationId, email })
  ).body.data;
  await eventually(async () => expect(await deliveries(webhookId)).toHaveLength(1));
  expect((await deliveries(webhookId))[0].answer).toContain(email);
  const inPlain = () =>
    sql(
      `SELECT FROM webhook_deliveries d WHERE d::text LIKE '%' || $1 || '%' OR encode(answer, 'escape') LIKE '%' || $1 || '%'`,
      [email],
    );
  expect(await inPlain()).toEqual([]);
  await client.delete('contact.delete-contact', { contactId });
  await eventually(async () => expect(await deliveries(webhookId)).toHaveLength(2));
  expect((await deliveries(webhookId)).map(({ answer }: { answer: string | null }) => answer)).toEqual([
    null,
    null,
  ]);
  expect(await inPlain()).toEqual([]);
  // A redelivered event contains no personal data.
  const { id: eventId } = receiver.of(path)[0]!;
  await client.post('webhook.redeliver', { webhookId, eventId });
  await eventually(() => expect(receiver.of(path)).toHaveLength(3));
  expect(receiver.of(path)[2]!.body.data.personal).toBeNull();
});

it('update-webhook returns 200 with the whole webhook, applies the new URL, and asOf returns the previous one', async () => {
  const { path, webhookId } = await create();
  const { updatedAt } = (await get(webhookId)).body.data;
  await sleep(2);
  const url = receiver.at(`${path}-moved`);
  const { status, body } = await client.post('webhook.update-webhook', { webhookId, url, eventTypes: null });
  expect([status, body.data.url]).toEqual([200, url]);
  await makeList('a');
  await eventually(() => expect(typesAt(`${path}-moved`)).toContain('ListCreated'));
  expect(typesAt(path)).not.toContain('ListCreated');
  const past = (await get(webhookId, { asOf: updatedAt })).body.data;
  expect(past).toMatchObject({ url: receiver.at(path), position: null, lag: null, status: 'ACTIVE' });
});

it('delete-webhook stops sending, and the webhook returns 404', async () => {
  const { path, webhookId } = await create();
  const witness = await create();
  for (let n = 0; n < 2; n += 1) {
    const { status, body } = await client.delete('webhook.delete-webhook', { webhookId });
    expect([status, body]).toEqual([200, { data: { webhookId }, object: 'webhook' }]);
  }
  await othersAreSent(witness);
  expect(typesAt(path)).not.toContain('ListCreated');
  await eventually(async () =>
    expect(await sql('SELECT FROM webhook_cursors WHERE webhook_id = $1', [webhookId])).toEqual([]),
  );
  for (const answer of [
    await get(webhookId),
    await client.get('webhook.list-deliveries', { webhookId }),
    await client.post('webhook.update-webhook', { webhookId, description: 'a' }),
    await client.post('webhook.pause-webhook', { webhookId }),
    await client.post('webhook.resume-webhook', { webhookId }),
    await client.post('webhook.rotate-secret', { webhookId }),
    await client.post('webhook.test-webhook', { webhookId }),
    await client.post('webhook.redeliver', { webhookId, eventId: NOBODY }),
    await client.post('webhook.replay-webhook', { webhookId, fromPosition: 0 }),
  ]) {
    expect([answer.status, answer.body.error.message]).toEqual([404, expect.stringMatching(/webhook/)]);
  }
});

it('a webhook of another organization returns 404', async () => {
  const { webhookId } = await create();
  const other = await api.organization();
  expect((await other.get('webhook.get-webhook', { webhookId })).status).toBe(404);
  expect((await other.post('webhook.test-webhook', { webhookId })).status).toBe(404);
  expect((await other.delete('webhook.delete-webhook', { webhookId })).status).toBe(404);
  expect((await other.get('webhook.list-webhooks')).body.data).toEqual([]);
});

it('create-webhook returns 409 above the limit, but not for an existing webhook', async () => {
  const fields = Array.from({ length: 55 }, (_, n) => ({ url: receiver.at(`at-once-${n}`) }));
  const all = await Promise.all(fields.map((each) => client.post('webhook.create-webhook', each)));
  expect(all.filter(({ status }) => status === 200)).toHaveLength(50);
  const listed = (await client.get('webhook.list-webhooks', { limit: '100' })).body.data;
  expect(listed).toHaveLength(50);
  await client.delete('webhook.delete-webhook', { webhookId: listed[0].id });

  const made = await create();
  const { status, body } = await client.post('webhook.create-webhook', { url: receiver.at('one-more') });
  expect([status, body.error.reason]).toEqual([409, 'WEBHOOK_LIMIT_REACHED']);
  const again = await client.post('webhook.create-webhook', { url: receiver.at(made.path) });
  expect(again.body.data).toEqual({ webhookId: made.webhookId, secret: null });
});

it('deliveries older than 30 days are deleted, and soon again if that failed', async () => {
  const { webhookId } = await create();
  await makeList('a');
  await eventually(async () => expect(await deliveries(webhookId)).toHaveLength(1));
  await sql(
    `UPDATE webhook_deliveries SET created_at = created_at - interval '31 days' WHERE webhook_id = $1`,
    [webhookId],
  );
  // An instance deletes them when it starts.
  const { app, workers } = await api.addInstance();
  const source = app.get(DataSource, { strict: false });
  const query = source.query.bind(source);
  let failures = 0;
  jest.spyOn(source, 'query').mockImplementation((statement, ...rest) => {
    if (failures > 0 || !statement.includes('DELETE FROM webhook_deliveries'))
      return query(statement, ...rest);
    failures += 1;
    return Promise.reject(new Error('timeout exceeded when trying to connect'));
  });
  workers.start();
  await eventually(async () => expect(await deliveries(webhookId)).toEqual([]));
  expect(failures).toBe(1);
});
