import { v7 as uuidv7 } from 'uuid';
import { Api, type Client } from './harness.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const post = (operation: string, body: object) =>
  client.post(operation, { organizationId: client.organizationId, ...body });
async function create(email: string): Promise<string> {
  const { status, body } = await post('contact.create-contact', { email });
  expect(status).toBe(200);
  return body.data.contactId;
}
async function found(email: string): Promise<string[]> {
  const { body } = await client.get('contact.list-contacts', { email });
  return body.data.map(({ id }: { id: string }) => id);
}
const importLines = (...emails: string[]) =>
  client.request(
    'POST',
    '/v1/contact.import-contacts?subscribed=true',
    emails.map((email) => `${JSON.stringify({ email })}\n`).join(''),
    { 'Content-Type': 'application/x-ndjson' },
  );

/** A contact as created by version 0.1.0. Its only unique key is the hash of the address in NFC and lower case. */
async function createdEarlier(email: string): Promise<string> {
  const { store, projections } = api.instances[0]!.runtime;
  const contactId = uuidv7();
  const key = store.keyring.hash('contact.email', email.normalize('NFC').toLowerCase());
  const event = { type: 'ContactCreated', data: { subscribed: true }, personal: { email } };
  const created = await store.append({
    organizationId: client.organizationId,
    metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
    writes: [
      {
        streamType: 'contact',
        streamId: contactId,
        expectedVersion: 0,
        events: [event],
        subjectId: contactId,
      },
    ],
    claims: [{ key, streamId: contactId }],
  });
  if (created.status !== 'appended') throw new Error(created.status);
  await projections.catchUp(created.position!);
  return contactId;
}

const FORMS = [
  ['full-width letters', 'ada@example.org', 'ａｄａ@example.org'],
  ['a ligature', 'fiona@example.org', 'ﬁona@example.org'],
  ['a soft hyphen', 'ada@example.org', 'a\u00adda@example.org'],
  ['a zero-width space', 'ada@example.org', 'ada\u200b@exam\u200bple.org'],
  ['punycode', 'ada@bücher.example', 'ada@xn--bcher-kva.example'],
] as const;

describe.each(FORMS)('%s are the same address', (_form, plain, other) => {
  it.each([
    ['with the usual form first', plain, other],
    ['with this form first', other, plain],
  ])('%s', async (_order, first, second) => {
    const contactId = await create(first);
    expect(
      (await client.get('contact.get-contact', { contactId, organizationId: client.organizationId })).body
        .data.email,
    ).toBe(first);
    const taken = await post('contact.create-contact', { email: second, city: 'Paris' });
    expect([taken.status, taken.body.error?.code]).toEqual([409, 'CONFLICT']);
    const merged = await post('contact.create-contact', {
      email: second,
      city: 'Paris',
      onConflict: 'update',
    });
    expect(merged.body.data).toEqual({ contactId, created: false });
    expect((await importLines(first, second)).body.data).toMatchObject({
      created: 0,
      unchanged: 2,
      failedCount: 0,
    });
    expect(await found(first)).toEqual([contactId]);
    expect(await found(second)).toEqual([contactId]);

    const { petitionId } = (await client.post('petition.create-petition', { name: 'Sign' })).body.data;
    await client.post('petition.publish-petition', { petitionId });
    const signed = await client.post('petition.add-signature', { petitionId, contact: { email: second } });
    expect(signed.body.data).toMatchObject({ contactId, signatures: 1 });

    // After a change of address, both forms are free. Changing back claims them again.
    const moved = await client.post('contact.update-contact', { contactId, email: 'elsewhere@example.org' });
    expect(moved.status).toBe(200);
    const next = await create(second);
    expect(next).not.toBe(contactId);
    const back = await client.post('contact.update-contact', { contactId, email: first });
    expect(back.status).toBe(409);
    expect((await client.delete('contact.delete-contact', { contactId: next })).status).toBe(200);
    expect((await client.post('contact.update-contact', { contactId, email: first })).status).toBe(200);
    expect((await post('contact.create-contact', { email: second })).status).toBe(409);
  });
});

it('import-contacts creates one contact for two forms of an address in one file', async () => {
  const { body } = await importLines(...FORMS[4].slice(1), ...FORMS[0].slice(1));
  expect(body.data).toMatchObject({ created: 2, unchanged: 2 });
});

describe('a contact created by version 0.1.0', () => {
  it('is found by its original address', async () => {
    const email = 'Müller@bücher.example';
    const contactId = await createdEarlier(email);
    const taken = await post('contact.create-contact', { email, city: 'Paris' });
    expect(taken.status).toBe(409);
    expect((await importLines(email.toUpperCase())).body.data).toMatchObject({ created: 0, unchanged: 1 });
    expect(await found('müller@xn--bcher-kva.example')).toEqual([contactId]);
    // If the contact changes the form of its address, it keeps every form.
    const email2 = 'müller@xn--bcher-kva.example';
    expect((await client.post('contact.update-contact', { contactId, email: email2 })).status).toBe(200);
    expect((await post('contact.create-contact', { email })).status).toBe(409);
    await client.delete('contact.delete-contact', { contactId });
    expect(await create(email)).not.toBe(contactId);
  });

  it('can be updated next to a second contact with the same address', async () => {
    const first = await createdEarlier('ａda@example.org');
    const second = await createdEarlier('ada@example.org');
    expect(
      (await client.post('contact.update-contact', { contactId: first, email: 'ａDA@example.org' })).status,
    ).toBe(200);
    expect((await client.post('contact.update-contact', { contactId: second, city: 'Paris' })).status).toBe(
      200,
    );
    expect((await found('ada@example.org')).sort()).toEqual([first, second].sort());
    expect((await importLines('ａda@example.org', 'ada@example.org')).body.data).toMatchObject({
      unchanged: 2,
    });
  });

  it('leaves no unique key behind after version 0.1.0 changed its address', async () => {
    const contactId = await create('ａda@example.org');
    const { store, projections } = api.instances[0]!.runtime;
    const event = { type: 'ContactUpdated', data: {}, personal: { email: 'moved@example.org' } };
    const write = {
      streamType: 'contact',
      streamId: contactId,
      expectedVersion: 1,
      events: [event],
      subjectId: contactId,
    };
    const moved = await store.append({
      organizationId: client.organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
      writes: [write],
      claims: [{ key: store.keyring.hash('contact.email', 'moved@example.org'), streamId: contactId }],
      releases: [{ key: store.keyring.hash('contact.email', 'ａda@example.org'), streamId: contactId }],
    });
    if (moved.status !== 'appended') throw new Error(moved.status);
    await projections.catchUp(moved.position!);
    expect(await create('ada@example.org')).not.toBe(contactId);
  });
});

it.each(['\u200b@example.org', 'a＠b@example.org', 'a…b@example.org', 'ada@e‥x.org'])(
  'create-contact returns 400 for %j, which cannot receive mail',
  async (email) => {
    expect((await post('contact.create-contact', { email })).status).toBe(400);
  },
);
