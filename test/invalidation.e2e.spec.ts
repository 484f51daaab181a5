import { Api, type Client, ISO, NOBODY } from './harness.js';
import { isLong } from './length.js';
import { eventually, inParallel } from './processes.js';
import { appendSignatures } from './signers.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start({ instances: 2 });
  api.startWorkers();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

let petitions = 0;
async function petition(): Promise<string> {
  const name = `Petition ${(petitions += 1)}`;
  const { petitionId } = (await client.post('petition.create-petition', { name })).body.data;
  await client.post('petition.publish-petition', { petitionId });
  return petitionId;
}
const sign = async (petitionId: string, email: string) =>
  (await client.post('petition.add-signature', { petitionId, contact: { email } })).body.data;
const signAll = (petitionId: string, ...emails: string[]) =>
  Promise.all(emails.map((email) => sign(petitionId, email)));
const many = (petitionId: string, count: number) =>
  appendSignatures(api.instances[0]!.runtime.store, client.organizationId, petitionId, count);
const invalidate = (petitionId: string, fields: object, headers = {}) =>
  client.post('petition.invalidate-signatures', { petitionId, ...fields }, headers);
const restore = (invalidationId: string) => client.post('petition.restore-signatures', { invalidationId });
const get = async (invalidationId: string) =>
  (await client.get('petition.get-invalidation', { invalidationId })).body.data;
const count = async (petitionId: string) =>
  (await client.get('petition.get-petition', { petitionId })).body.data.signatures;
const listed = async (petitionId: string, query = {}) =>
  (await client.get('petition.list-signatures', { petitionId, ...query })).body.data;
const isDone = (invalidationId: string, status: string) =>
  eventually(async () => expect(await get(invalidationId)).toMatchObject({ status }));
/** Waits for the count, because counts and records are projected independently. */
const counts = (petitionId: string, signatures: number) =>
  eventually(async () => expect(await count(petitionId)).toBe(signatures));

it('signatures by id are excluded from the count, listed separately, and counted again when restored', async () => {
  const petitionId = await petition();
  const [ada, bob, eve] = await signAll(petitionId, 'ada@example.org', 'bob@example.org', 'eve@example.org');
  const { status, body } = await invalidate(petitionId, { signatureIds: [ada.signatureId, bob.signatureId] });
  const { invalidationId } = body.data;
  expect([status, body]).toEqual([
    200,
    { data: { invalidationId: expect.any(String), petitionId, signatures: 2 }, object: 'invalidation' },
  ]);
  expect(await count(petitionId)).toBe(1);
  expect(await listed(petitionId)).toMatchObject([
    { id: eve.signatureId, status: 'CONFIRMED', invalidationId: null },
  ]);
  const out = await listed(petitionId, { status: 'INVALIDATED' });
  expect(out.map(({ id }: { id: string }) => id).toSorted()).toEqual(
    [ada.signatureId, bob.signatureId].toSorted(),
  );
  expect(out[0]).toMatchObject({ status: 'INVALIDATED', invalidationId });
  const contacts = await client.get('contact.list-contacts', { petitionId });
  expect(contacts.body.data.map(({ id }: { id: string }) => id)).toEqual([eve.contactId]);

  const record = {
    id: invalidationId,
    createdAt: expect.stringMatching(ISO),
    updatedAt: expect.stringMatching(ISO),
    petitionId,
    status: 'INVALIDATED',
    condition: null,
    matched: 2,
    invalidated: 2,
    restored: 0,
    organizationId: client.organizationId,
  };
  expect(await get(invalidationId)).toEqual(record);
  expect((await client.get('petition.list-invalidations', { petitionId })).body.data).toEqual([record]);
  // Signing again does not restore an invalidated signature.
  expect(await sign(petitionId, 'ada@example.org')).toMatchObject({
    signatureId: ada.signatureId,
    signatures: 1,
  });

  const restored = await restore(invalidationId);
  expect([restored.status, restored.body.data]).toEqual([
    200,
    { ...record, status: 'RESTORED', restored: 2 },
  ]);
  expect((await restore(invalidationId)).body).toEqual(restored.body);
  expect([await count(petitionId), await listed(petitionId, { status: 'INVALIDATED' })]).toEqual([3, []]);
  expect(await listed(petitionId)).toHaveLength(3);
});

it('signatures by condition: the dry run returns their number and changes nothing', async () => {
  const petitionId = await petition();
  await signAll(petitionId, 'ada@example.org', 'bob@Spam.example');
  const [{ createdAt: first }] = await listed(petitionId);
  const [last] = await signAll(petitionId, 'eve@spam.example', 'mallory@notspam.example');
  const cases: [object, number][] = [
    [{ emailDomain: 'SPAM.example' }, 2],
    [{ emailDomain: '@spam.example' }, 2],
    [{ emailDomain: 'example' }, 0],
    [{ createdAfter: first }, (await listed(petitionId, { createdAfter: first })).length],
    [{ createdBefore: '2020-01-01T00:00:00Z' }, 0],
    [{ createdAfter: '2020-01-01T00:00:00Z', createdBefore: '2099-01-01T00:00:00+01:00' }, 4],
    [{ createdAfter: '2020-01-01T00:00:00Z', emailDomain: 'notspam.example' }, 1],
  ];
  for (const [condition, signatures] of cases) {
    const { body } = await invalidate(petitionId, { ...condition, dryRun: true });
    expect([condition, body.data]).toEqual([condition, { invalidationId: null, petitionId, signatures }]);
  }
  expect(await count(petitionId)).toBe(4);
  expect(await api.eventTypes(client.organizationId)).not.toContain('SignaturesInvalidated');

  const { body } = await invalidate(petitionId, { emailDomain: 'spam.example' });
  expect(body.data.signatures).toBe(2);
  expect(await get(body.data.invalidationId)).toMatchObject({
    condition: { emailDomain: 'spam.example', createdAfter: null, createdBefore: null },
    invalidated: 2,
  });
  expect(await count(petitionId)).toBe(2);
  // A repeat has nothing to do and records nothing.
  expect((await invalidate(petitionId, { emailDomain: 'spam.example' })).body.data).toEqual({
    invalidationId: null,
    petitionId,
    signatures: 0,
  });
  expect(last.signatures).toBeGreaterThan(0);
});

it('creates one invalidation for a repeated Idempotency-Key and for parallel requests', async () => {
  const petitionId = await petition();
  const ids = await many(petitionId, 40);
  const headers = { 'Idempotency-Key': 'once' };
  const first = await invalidate(petitionId, { signatureIds: ids.slice(0, 10) }, headers);
  expect((await invalidate(petitionId, { signatureIds: ids.slice(0, 10) }, headers)).body).toEqual(
    first.body,
  );
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => invalidate(petitionId, { signatureIds: ids.slice(n, n + 20) })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(await count(petitionId)).toBe(40 - 27);
  const all = [first, ...answers].map(({ body }) => body.data.invalidationId).filter(Boolean);
  for (const invalidationId of all) await restore(invalidationId);
  expect(await count(petitionId)).toBe(40);
});

it('does not restore signatures withdrawn since, and restores those of erased signers without their name', async () => {
  const petitionId = await petition();
  const [ada, bob] = await signAll(petitionId, 'ada@example.org', 'bob@example.org', 'eve@example.org');
  const { invalidationId } = (await invalidate(petitionId, { emailDomain: 'example.org' })).body.data;
  expect(await count(petitionId)).toBe(0);
  const withdrawn = await client.delete('petition.remove-signature', {
    petitionId,
    contactId: ada.contactId,
  });
  expect(withdrawn.body.data).toMatchObject({ signatureId: ada.signatureId, signatures: 0 });
  await client.delete('contact.delete-contact', { contactId: bob.contactId });
  await restore(invalidationId);
  expect(await count(petitionId)).toBe(2);
  expect(new Set((await listed(petitionId)).map(({ contactId }: any) => contactId)).has(null)).toBe(true);
  // A contact who withdrew may sign again.
  expect(await sign(petitionId, 'ada@example.org')).toMatchObject({ signatures: 3 });
});

it('many are invalidated page by page while others sign, and the count stays exact, even when restored', async () => {
  const petitionId = await petition();
  // Pages have 200 signatures.
  const count = isLong ? 900 : 450;
  await many(petitionId, count);
  const condition = { createdBefore: new Date(Date.now() + 3_600_000).toISOString() };
  const expected = (await invalidate(petitionId, { ...condition, dryRun: true })).body.data.signatures;
  let begun = { invalidationId: '', signatures: 0 };
  await inParallel(60, 12, async (n) => {
    if (n === 20) begun = (await invalidate(petitionId, condition)).body.data;
    await sign(petitionId, `person-${n}@example.org`);
  });
  const { invalidationId, signatures } = begun;
  expect([expected, signatures]).toEqual([count, expect.any(Number)]);
  expect(signatures).toBeGreaterThanOrEqual(count);
  await isDone(invalidationId, 'INVALIDATED');
  expect(await get(invalidationId)).toMatchObject({ matched: signatures, invalidated: signatures });
  await counts(petitionId, count + 60 - signatures);
  await restore(invalidationId);
  await isDone(invalidationId, 'RESTORED');
  expect(await get(invalidationId)).toMatchObject({ restored: signatures });
  await counts(petitionId, count + 60);
});

it('an invalidation in progress can be restored', async () => {
  const petitionId = await petition();
  await many(petitionId, 1_100);
  const all = { createdAfter: '2020-01-01T00:00:00Z' };
  const { invalidationId } = (await invalidate(petitionId, all)).body.data;
  expect((await restore(invalidationId)).body.data.status).toMatch(/^RESTOR/);
  await isDone(invalidationId, 'RESTORED');
  const { invalidated, restored } = await get(invalidationId);
  expect(restored).toBe(invalidated);
  await counts(petitionId, 1_100);
});

it.each([
  [{}, 400],
  [{ dryRun: true }, 400],
  [{ signatureIds: [] }, 400],
  [{ signatureIds: [NOBODY], emailDomain: 'example.org' }, 400],
  [{ signatureIds: [NOBODY] }, 404],
  [{ signatureIds: ['x'] }, 404],
  [{ signatureIds: [NOBODY], dryRun: true }, 404],
  [{ createdAfter: 'yesterday' }, 400],
  [{ emailDomain: '' }, 400],
  [{ petitionId: NOBODY, emailDomain: 'example.org' }, 404],
  [{ petitionId: NOBODY, emailDomain: 'example.org', dryRun: true }, 404],
])('invalidate-signatures with %j returns %i', async (fields, status) => {
  expect((await invalidate(await petition(), fields)).status).toBe(status);
});

it('never affects another petition or organization', async () => {
  const [one, other] = [await petition(), await petition()];
  const { signatureId } = await sign(one, 'ada@example.org');
  expect((await invalidate(other, { signatureIds: [signatureId] })).status).toBe(404);
  const { invalidationId } = (await invalidate(one, { signatureIds: [signatureId] })).body.data;
  const stranger = await api.organization();
  const requests = [
    stranger.post('petition.invalidate-signatures', { petitionId: one, signatureIds: [signatureId] }),
    stranger.post('petition.restore-signatures', { invalidationId }),
    stranger.get('petition.get-invalidation', { invalidationId }),
    client.post('petition.restore-signatures', { invalidationId: NOBODY }),
  ];
  for (const { status } of await Promise.all(requests)) expect(status).toBe(404);
  expect((await stranger.get('petition.list-invalidations')).body.data).toEqual([]);
  expect(await get(invalidationId)).toMatchObject({ status: 'INVALIDATED', restored: 0 });
});
