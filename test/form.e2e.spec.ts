import { Fixture } from './fixture.js';
import { Api, NOBODY } from './harness.js';

let api: Api;
let own: Fixture;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  own = new Fixture(api, await api.organization());
});

const create = (fields: object = {}) => own.send('form.create-form', { name: 'Newsletter', ...fields });
const get = (formId: string) => own.ask('form.get-form', { formId });

it('create-form returns 200 with the id, and get-form returns every field, with defaults', async () => {
  const { body } = await create();
  expect(await get(body.data.formId)).toEqual({
    ...{ id: body.data.formId, organizationId: own.organizationId },
    ...{ createdAt: expect.any(String), updatedAt: expect.any(String), version: 1 },
    ...{ name: 'Newsletter', title: 'Newsletter', text: null, slug: 'newsletter', confirmation: 'EMAIL' },
    ...{ consent: { text: null, required: true }, listIds: [], tagIds: [], thankYou: null },
    ...{ status: 'PUBLISHED', url: expect.any(String), submissions: 0, pendingSubmissions: 0 },
    fields: ['firstName', 'lastName'].map((field) => ({ field, required: false })),
  });
  expect((await create({ title: 'Newsletter', confirmation: 'EMAIL' })).body).toEqual(body);
});

it('update-form replaces what is sent, and keeps what refers to deleted records', async () => {
  const { formId } = (await create()).body.data;
  const [{ fieldId }, { listId }, { tagId }] = [
    await own.a('field'),
    await own.a('list'),
    await own.a('tag'),
  ];
  const { key } = await own.ask('field.get-field', { fieldId });
  const sent = {
    ...{
      listIds: [listId],
      tagIds: [tagId],
      confirmation: 'NONE',
      status: 'PAUSED',
      consent: { text: 'Yes', required: false },
    },
    fields: [{ field: 'country', required: true }, { field: key }],
    thankYou: { title: 'Thanks', nextUrl: 'https://example.org/donate', nextLabel: 'Donate' },
  };
  const stored = {
    ...sent,
    fields: [
      { field: 'country', required: true },
      { field: key, required: false },
    ],
    thankYou: { title: 'Thanks', text: null, nextUrl: 'https://example.org/donate', nextLabel: 'Donate' },
  };
  expect(await own.ask('form.update-form', { formId, ...sent })).toMatchObject(stored);
  await own.ask('list.delete-list', { listId });
  await own.ask('field.delete-field', { fieldId });
  expect(await own.ask('form.update-form', { formId, title: 'News', thankYou: null })).toMatchObject({
    ...{ ...stored, fields: stored.fields.slice(0, 1), title: 'News', thankYou: null },
  });
  const [listed] = await own.ask('form.list-forms', { q: 'news' });
  expect(listed).toEqual(await get(formId));
  for (const gone of [{ listIds: [listId, NOBODY] }, { tagIds: [NOBODY] }])
    expect((await own.send('form.update-form', { formId, ...gone })).status).toBe(404);
  const none = { fields: [], listIds: [], tagIds: [] };
  expect(await own.ask('form.update-form', { formId, ...none })).toMatchObject(none);
});

it('each organization has a form from its beginning, which is listed, counted, changed and deleted like any other', async () => {
  const [form] = await own.ask('form.list-forms');
  const { id: formId, createdAt } = form;
  const of = await own.ask('organization.get-organization');
  expect(form).toMatchObject({ title: 'Get updates', slug: null, status: 'PUBLISHED', submissions: 0 });
  const then = () => own.ask('form.get-form', { formId, asOf: createdAt });
  expect([createdAt, await get(formId), await then()]).toEqual([of.createdAt, form, form]);
  await own.ask('organization.update-organization', { language: 'fr' });
  expect((await get(formId)).title).toBe('Recevoir nos actualités');
  const found = async (q: string) => (await own.ask('form.list-forms', { q })).map(({ id }: any) => id);
  expect(await Promise.all(['NOS ACTU', 're', 'nouvelles', 'no'].map(found))).toEqual([
    [formId],
    [formId],
    [],
    [],
  ]);
  const keyed = () =>
    own.send(
      'form.update-form',
      { formId, status: 'PUBLISHED' },
      { headers: { 'Idempotency-Key': 'unchanged' } },
    );
  const [unchanged, repeated] = [await keyed(), await keyed()];
  expect(repeated.body).toEqual(unchanged.body);
  const changes = await Promise.all(
    ['one', 'two', 'three'].map((slug) => own.send('form.update-form', { formId, slug })),
  );
  expect(changes.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await own.ask('form.update-form', { formId, title: 'News' })).toMatchObject({
    title: 'News',
    createdAt,
  });
  expect([await found('nos actu'), await found('new')]).toEqual([[], [formId]]);
  expect(await then()).toEqual(form);
  // The default title of the built-in form is in the organization's language, that of others is their name.
  expect((await own.ask('form.update-form', { formId, title: null })).title).toBe('Recevoir nos actualités');
  const other = (await create({ title: 'News' })).body.data;
  expect((await own.ask('form.update-form', { formId: other.formId, title: null })).title).toBe('Newsletter');
  await own.ask('form.delete-form', { formId: other.formId });
  await own.ask('form.delete-form', { formId });
  expect([(await own.send('form.get-form', { formId })).status, await own.ask('form.list-forms')]).toEqual([
    404,
    [],
  ]);
});

it.each([
  ['an item of fields without a name', { fields: [{ required: true }] }, 'fields.0.field'],
  ['an unknown detail', { fields: [{ field: 'zip' }, { field: 'email' }] }, 'fields.1.field'],
  ['a comment', { fields: [{ field: 'comment' }] }, 'fields.0.field'],
  ['a detail twice', { fields: [{ field: 'zip' }, { field: 'zip' }] }, 'fields.1.field'],
  ['a link without its text', { thankYou: { nextUrl: 'https://example.org' } }, 'thankYou.nextLabel'],
  ['an unknown status', { status: 'DRAFT' }, 'status'],
  ['21 fields', { fields: Array(21).fill({ field: 'zip' }) }, 'fields'],
  ['21 lists', { listIds: Array.from({ length: 21 }, (_, n) => `${n}`) }, 'listIds'],
  ['no object for the consent', { consent: 'yes' }, 'consent'],
  ['a link that is not a web address', { thankYou: { nextUrl: 'javascript:1' } }, 'thankYou.nextUrl'],
])('create-form returns 400 for %s and names it', async (_, fields, path) => {
  const { status, body } = await create(fields);
  expect([status, body.error.issues?.[0]?.path]).toEqual([400, path]);
});
