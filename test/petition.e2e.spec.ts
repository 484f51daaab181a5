import { SharedApi, Client, ISO, NOBODY } from './harness.js';
import { isLong } from './length.js';
import { signWithComment } from './signers.js';

/** The number of parallel requests with the same intention. */
const TWINS = isLong ? 50 : 16;

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
  const { status, body } = await client.post('petition.create-petition', {
    name: 'Save the river',
    ...fields,
  });
  expect(status).toBe(200);
  return body.data.petitionId;
}
async function open(fields: object = {}): Promise<string> {
  const petitionId = await create(fields);
  expect((await move('publish', petitionId)).status).toBe(200);
  return petitionId;
}
let people = 0;
async function person(): Promise<string> {
  const { organizationId } = client;
  const email = `signer-${(people += 1)}@example.org`;
  return (await client.post('contact.create-contact', { organizationId, email })).body.data.contactId;
}
const get = async (petitionId: string, query: object = {}) =>
  client.get('petition.get-petition', { petitionId, ...query });
const move = (operation: string, petitionId: string) =>
  client.post(`petition.${operation}-petition`, { petitionId });
const sign = (petitionId: string, fields: object, headers = {}) =>
  client.post('petition.add-signature', { petitionId, ...fields }, headers);
const withdraw = (petitionId: string, contactId: string) =>
  client.delete('petition.remove-signature', { petitionId, contactId });
const count = async (petitionId: string) => (await get(petitionId)).body.data.signatures;
const signed = async () =>
  (await api.eventTypes(client.organizationId)).filter((type) => type === 'PetitionSigned').length;
const listed = async (petitionId: string) =>
  (await client.get('petition.list-signatures', { petitionId })).body.data;

describe('create-petition', () => {
  it('returns 200 with the id, and get-petition returns every field', async () => {
    const { status, body } = await client.post('petition.create-petition', { name: 'Save the river' });
    expect([status, body]).toEqual([200, { data: { petitionId: expect.any(String) }, object: 'petition' }]);
    expect((await get(body.data.petitionId)).body).toEqual({
      data: {
        id: body.data.petitionId,
        createdAt: expect.stringMatching(ISO),
        updatedAt: expect.stringMatching(ISO),
        version: 1,
        name: 'Save the river',
        title: 'Save the river',
        goal: 100,
        target: null,
        thankYou: null,
        thankYouMail: null,
        description: null,
        ask: null,
        imageId: null,
        signatures: 0,
        organizationId: client.organizationId,
        status: 'DRAFT',
        image: null,
        content: null,
        slug: 'save-the-river',
        url: expect.stringMatching(/\/petitions\/save-the-river$/),
        confirmation: 'EMAIL',
        closesAt: null,
        publicComments: false,
        formFields: [],
        pendingSignatures: 0,
        offlineSignatures: 0,
        comments: 'OFF',
        autoGoal: false,
        language: null,
        translations: {},
        outcome: null,
        outcomeText: null,
        form: {
          fields: [
            { field: 'firstName', required: true },
            { field: 'lastName', required: false },
          ],
          consent: { text: null, required: false },
        },
      },
      object: 'petition',
    });
  });

  it('returns the first id for the same body, with defaults written out or omitted', async () => {
    const petitionId = await create();
    const preset = { goal: 100, ask: null, confirmation: 'EMAIL', publicComments: false, closesAt: null };
    expect(await create({ title: 'Save the river', ...preset })).toBe(petitionId);
    expect(await create({ goal: 101 })).not.toBe(petitionId);
  });

  it.each([
    ['no name', { name: undefined }, 'name'],
    ['a goal of 0', { goal: 0 }, 'goal'],
    ['a goal of 1.5', { goal: 1.5 }, 'goal'],
    ['a goal as text', { goal: '100' }, 'goal'],
    ['null for the goal', { goal: null }, 'goal'],
    ['a slug with capitals', { slug: 'Save' }, 'slug'],
    ['a slug of 81 characters', { slug: 'x'.repeat(81) }, 'slug'],
    ['a slug that ends with a hyphen', { slug: 'save-' }, 'slug'],
    ['another confirmation', { confirmation: 'SMS' }, 'confirmation'],
    ['form fields that are not a list', { formFields: {} }, 'formFields'],
    ['form fields that are not objects', { formFields: ['a'] }, 'formFields.0'],
    ['a form field without an id', { formFields: [{ required: true }] }, 'formFields.0.fieldId'],
    [
      'an unknown part of a form field',
      { formFields: [{ fieldId: 'a', hidden: true }] },
      'formFields.0.hidden',
    ],
    ['a form field twice', { formFields: [{ fieldId: 'a' }, { fieldId: 'a' }] }, 'formFields.1.fieldId'],
    ['21 form fields', { formFields: Array(21).fill({ fieldId: 'a' }) }, 'formFields'],
    ['a form without fields', { form: {} }, 'form.fields'],
    ['an unknown field in the form', { form: { fields: [{ field: 'shoeSize' }] } }, 'form.fields.0.field'],
    [
      'a field in the form twice',
      { form: { fields: [{ field: 'zip' }, { field: 'zip' }] } },
      'form.fields.1.field',
    ],
    ['29 fields in the form', { form: { fields: Array(29).fill({ field: 'zip' }) } }, 'form.fields'],
    [
      'a consent text of 1,001 characters',
      { form: { fields: [], consent: { text: 'x'.repeat(1_001) } } },
      'form.consent.text',
    ],
    ['the form twice', { form: { fields: [] }, formFields: [] }, 'formFields'],
    ['comments twice', { comments: 'SHOWN', publicComments: true }, 'publicComments'],
    ['unknown comments', { comments: 'ALL' }, 'comments'],
    ['a closesAt without an offset', { closesAt: '2027-01-01T00:00:00' }, 'closesAt'],
    ['a target of 501 characters', { target: 'x'.repeat(501) }, 'target'],
    ['an unknown field', { signatures: 5 }, 'signatures'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await client.post('petition.create-petition', { name: 'A', ...fields });
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });
});

describe('duplicate-petition', () => {
  const duplicate = (body: object, headers = {}) => client.post('petition.duplicate-petition', body, headers);

  it('returns 200 with the id of a draft that has every field, except what belongs to the original', async () => {
    const { fieldId } = (await client.post('field.create-field', { name: 'Gone' })).body.data;
    const content = { markdown: 'Ω'.repeat(9_000) };
    const fields = { title: 'River', goal: 7, ask: 'Stop', confirmation: 'NONE', publicComments: true };
    const closesAt = '2099-01-01T00:00:00.000Z';
    const formFields = [{ fieldId, required: true }];
    const petitionId = await create({ ...fields, content, closesAt, formFields, slug: 'river' });
    await client.post('petition.publish-petition', { petitionId });
    await client.post('petition.add-signature', { petitionId, contact: { email: 'ada@example.org' } });
    // A form ignores it from now on.
    await client.delete('field.delete-field', { fieldId });
    const { status, body } = await duplicate({ petitionId, name: 'Save the lake' });
    expect([status, Object.keys(body.data)]).toEqual([200, ['petitionId']]);
    expect((await get(body.data.petitionId)).body.data).toMatchObject({
      ...{ ...fields, content, formFields, name: 'Save the lake', slug: 'save-the-lake' },
      ...{ status: 'DRAFT', signatures: 0, closesAt: null },
    });
  });

  it('returns the first copy for the same body or key, and another one for another key', async () => {
    const petitionId = await create({ name: 'Original' });
    const body = { petitionId, name: 'Copy' };
    const [first, twin] = await Promise.all([duplicate(body), duplicate(body)]);
    expect(twin.body).toEqual(first.body);
    const key = { 'Idempotency-Key': 'another' };
    const other = await duplicate(body, key);
    expect(other.body.data.petitionId).not.toBe(first.body.data.petitionId);
    expect((await get(other.body.data.petitionId)).body.data.slug).toBe('copy-2');
    await client.delete('petition.delete-petition', { petitionId });
    expect((await duplicate(body, key)).body).toEqual(other.body);
    expect((await duplicate({ petitionId, name: 'Too late' })).status).toBe(404);
  });
});

describe('update-petition', () => {
  it('returns 200 with the whole petition and its count, in every state', async () => {
    const petitionId = await open();
    await sign(petitionId, { contactId: await person() });
    const { status, body } = await client.post('petition.update-petition', {
      petitionId,
      goal: 5,
      ask: 'Act',
    });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ goal: 5, ask: 'Act', signatures: 1, status: 'PUBLISHED' });
    expect((await get(petitionId)).body).toEqual(body);
    // Signing still works after the petition's version has changed.
    expect((await sign(petitionId, { contactId: await person() })).body.data.signatures).toBe(2);
  });

  it('returns 200 without an event if nothing changes', async () => {
    const petitionId = await create({ content: [1] });
    await client.post('petition.update-petition', { petitionId, goal: 100, content: [1] });
    expect(await api.eventTypes(client.organizationId)).not.toContain('PetitionUpdated');
  });
});

describe('outcome', () => {
  const change = (petitionId: string, fields: object) =>
    client.post('petition.update-petition', { petitionId, ...fields });
  const closed = async (name: string) => {
    const petitionId = await open({ name });
    await client.post('petition.close-petition', { petitionId });
    return petitionId;
  };

  it('of a closed petition is set with a text, filters list-petitions, and is deleted with its text', async () => {
    const petitionId = await closed('Won');
    await closed('Undecided');
    const won = { outcome: 'WON', outcomeText: 'The council **agreed**.' };
    expect((await change(petitionId, won)).body.data).toMatchObject(won);
    expect((await change(petitionId, { goal: 7 })).body.data).toMatchObject(won);
    const listed = async (outcome: string) =>
      (await client.get('petition.list-petitions', { outcome })).body.data.map(({ name }: any) => name);
    expect([await listed('WON'), await listed('LOST')]).toEqual([['Won'], []]);
    const none = { outcome: null, outcomeText: null };
    expect((await change(petitionId, { outcome: null })).body.data).toMatchObject(none);
    expect((await get(petitionId)).body.data).toMatchObject(none);
  });

  it('is deleted when the petition is published again, and is not that of a copy', async () => {
    const petitionId = await closed('Reopened');
    await change(petitionId, { outcome: 'LOST', outcomeText: 'Not this time.' });
    const { body } = await client.post('petition.duplicate-petition', { petitionId, name: 'Copy' });
    const none = { outcome: null, outcomeText: null };
    expect((await get(body.data.petitionId)).body.data).toMatchObject(none);
    expect((await client.post('petition.publish-petition', { petitionId })).body.data).toMatchObject(none);
  });

  it('of a petition that is not closed returns 409, unless it equals the one it already has', async () => {
    const petitionId = await open();
    const refused = await change(petitionId, { outcome: 'WON' });
    expect([refused.status, refused.body.error.reason]).toEqual([409, 'PETITION_NOT_CLOSED']);
    expect((await change(petitionId, { outcome: null, outcomeText: null })).status).toBe(200);
  });

  it.each([
    ['an unknown outcome', { outcome: 'DRAW' }, 'outcome'],
    ['a text without an outcome', { outcomeText: 'Hm' }, 'outcome'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await change(await closed('A'), fields);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });
});

describe('form fields', () => {
  it('are stored in their order, changed and cleared; an unknown or deleted one returns 404', async () => {
    const fieldId = async (name: string) =>
      (await client.post('field.create-field', { name })).body.data.fieldId as string;
    const [first, second] = [await fieldId('First'), await fieldId('Second')];
    const formFields = [{ fieldId: second, required: true }, { fieldId: first }];
    const petitionId = await create({ formFields });
    const stored = async () => (await get(petitionId)).body.data.formFields;
    expect(await stored()).toEqual([formFields[0], { fieldId: first, required: false }]);
    const update = (change: object) => client.post('petition.update-petition', { petitionId, ...change });
    await client.delete('field.delete-field', { fieldId: first });
    expect((await update({ goal: 7 })).status).toBe(200);
    expect((await update({ formFields: [{ fieldId: first }] })).status).toBe(404);
    expect(
      (await client.post('petition.create-petition', { name: 'B', formFields: [{ fieldId: first }] })).status,
    ).toBe(404);
    expect((await update({ formFields: [] })).body.data.formFields).toEqual([]);
    expect(await create({ formFields: [] })).toBe(await create());
  });
});

describe('the form', () => {
  const shoeSize = async () =>
    (await client.post('field.create-field', { name: 'Shoe size' })).body.data.fieldId as string;
  const update = async (petitionId: string, change: object) => {
    const { status, body } = await client.post('petition.update-petition', { petitionId, ...change });
    return status === 200 ? body.data : [status, body.error.issues?.[0].path];
  };
  const events = async (petitionId: string) =>
    (await client.get('history.list-events', { recordId: petitionId })).body.data.length as number;

  it('is stored, returned as it is now and was then, and sending it back changes nothing', async () => {
    const fieldId = await shoeSize();
    const consent = { text: 'Write to me <b>', required: true };
    const fields = [
      { field: 'phone', required: true },
      { field: 'shoeSize', required: false },
      { field: 'comment', required: false },
    ];
    const keyed = () =>
      client.post(
        'petition.create-petition',
        { name: 'A', form: { fields, consent } },
        { 'Idempotency-Key': 'form' },
      );
    const { petitionId } = (await keyed()).body.data;
    const first = (await get(petitionId)).body.data;
    expect(first).toMatchObject({ form: { fields, consent }, formFields: [{ fieldId, required: false }] });
    expect(await update(petitionId, { form: first.form })).toEqual(first);
    // Earlier clients send back what they know.
    const { publicComments, formFields } = first;
    expect(await update(petitionId, { publicComments, formFields })).toEqual(first);
    expect(await events(petitionId)).toBe(1);

    await client.delete('field.delete-field', { fieldId });
    expect((await get(petitionId)).body.data.form.fields).toEqual([fields[0], fields[2]]);
    expect((await get(petitionId, { asOf: first.updatedAt })).body.data.form).toEqual(first.form);
    expect(await update(petitionId, { form: { fields } })).toEqual([400, 'form.fields.1.field']);
    // A repeated request returns its response even though the field was deleted since.
    expect((await keyed()).body.data).toEqual({ petitionId });
  });

  it('keeps its other fields if an earlier client changes the custom ones', async () => {
    const fieldId = await shoeSize();
    const form = {
      fields: [{ field: 'phone' }, { field: 'comment' }],
      consent: { text: 'Yes', required: true },
    };
    const petitionId = await create({ form });
    const { form: changed } = await update(petitionId, { formFields: [{ fieldId, required: true }] });
    expect(changed).toMatchObject({
      fields: [{ field: 'phone' }, { field: 'shoeSize', required: true }, { field: 'comment' }],
      consent: form.consent,
    });
    expect((await update(petitionId, { formFields: [] })).form).toMatchObject(form);
  });

  it('asks for a comment once the page shows comments, unless it is given too', async () => {
    const names = ({ form }: { form: { fields: { field: string }[] } }) =>
      form.fields.map(({ field }) => field);
    const petitionId = await create();
    expect(names(await update(petitionId, { comments: 'SHOWN' }))).toEqual([
      ...['firstName', 'lastName', 'comment'],
    ]);
    const fields = [{ field: 'firstName' }];
    expect(names(await update(petitionId, { form: { fields } }))).toEqual(['firstName']);
    const second = await create({ name: 'B', publicComments: true });
    expect(names((await get(second)).body.data)).toContain('comment');
    const third = await create({ name: 'C', comments: 'SHOWN', form: { fields } });
    expect(names((await get(third)).body.data)).toEqual(['firstName']);
  });

  it('tells a custom field with the key of another field apart, and knows none of another organization', async () => {
    const other = await api.organization();
    await other.post('field.create-field', { name: 'Theirs' });
    const petitionId = await create();
    expect(await update(petitionId, { form: { fields: [{ field: 'theirs' }] } })).toEqual([
      ...[400, 'form.fields.0.field'],
    ]);
    await shoeSize();
    const both = { fields: [{ field: 'shoeSize' }, { field: 'fields.shoeSize' }] };
    expect(await update(petitionId, { form: both })).toEqual([400, 'form.fields.1.field']);
    // New custom fields cannot have such a key.
    const { fieldId } = (await client.post('field.create-field', { name: 'Comment' })).body.data;
    expect((await client.get('field.get-field', { fieldId })).body.data.key).toBe('comment2');
  });
});

describe('states', () => {
  it('DRAFT → PUBLISHED → CLOSED → PUBLISHED, each repeat returns 200 without an event', async () => {
    const petitionId = await create();
    for (const [operation, status] of [
      ['publish', 'PUBLISHED'],
      ['publish', 'PUBLISHED'],
      ['close', 'CLOSED'],
      ['close', 'CLOSED'],
      ['publish', 'PUBLISHED'],
    ] as const) {
      const answer = await move(operation, petitionId);
      expect([answer.status, answer.body.data.status]).toEqual([200, status]);
    }
    const types = await api.eventTypes(client.organizationId);
    expect(types.slice(-4)).toEqual([
      'PetitionCreated',
      'PetitionPublished',
      'PetitionClosed',
      'PetitionPublished',
    ]);
  });

  it('returns 409 with the possible actions for closing a draft and deleting a published petition', async () => {
    const petitionId = await create();
    const closed = await move('close', petitionId);
    expect([closed.status, closed.body.error.code]).toEqual([409, 'CONFLICT']);
    expect(closed.body.error.message).toMatch(/Only a published petition can be closed/);
    await move('publish', petitionId);
    const deleted = await client.delete('petition.delete-petition', { petitionId });
    expect([deleted.status, deleted.body.error.code]).toEqual([409, 'CONFLICT']);
    expect(deleted.body.error.message).toMatch(/Close it/);
  });

  it('a deleted petition no longer exists, and deleting it again returns the same', async () => {
    const petitionId = await open();
    const contactId = await person();
    await sign(petitionId, { contactId });
    await move('close', petitionId);
    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await client.delete('petition.delete-petition', { petitionId });
      expect([status, body]).toEqual([200, { data: { petitionId }, object: 'petition' }]);
    }
    expect((await get(petitionId)).status).toBe(404);
    expect((await client.get('petition.list-signatures', { petitionId })).status).toBe(404);
    expect((await sign(petitionId, { contactId })).status).toBe(404);
    expect((await withdraw(petitionId, contactId)).status).toBe(404);
    expect(await create()).not.toBe(petitionId);
  });
});

describe('add-signature', () => {
  it('returns 200 for a contact, counts immediately on every instance, and lists the signature', async () => {
    const petitionId = await open();
    const contactId = await person();
    const { status, body } = await sign(petitionId, { contactId, comment: ' I swim there ' });
    expect([status, body]).toEqual([
      200,
      {
        data: {
          signatureId: expect.any(String),
          petitionId,
          contactId,
          signatures: 1,
          consentRecorded: null,
        },
        object: 'signature',
      },
    ]);
    const other = client.at(api.instances[1]!.origin);
    expect((await other.get('petition.get-petition', { petitionId })).body.data.signatures).toBe(1);
    expect(await listed(petitionId)).toEqual([
      {
        id: body.data.signatureId,
        createdAt: expect.stringMatching(ISO),
        signedAt: expect.stringMatching(ISO),
        petitionId,
        contactId,
        comment: 'I swim there',
        commentState: null,
        status: 'CONFIRMED',
        invalidationId: null,
        source: null,
        suspicion: [],
        language: null,
      },
    ]);
  });

  it('returns 200 for a new person, and creates the contact in the same step', async () => {
    const petitionId = await open();
    const contact = { email: 'new@example.org', firstName: 'Ada' };
    const { body } = await sign(petitionId, { contact, comment: 'Clean it' });
    const { contactId } = body.data;
    const { organizationId } = client;
    const read = await client.get('contact.get-contact', { contactId, organizationId });
    expect(read.body.data).toMatchObject({ ...contact, subscribed: true });
    const types = await api.eventTypes(organizationId);
    expect(types.slice(-2)).toEqual(['ContactCreated', 'PetitionSigned']);
  });

  it('returns 200 for a known person, who is found by address and not changed', async () => {
    const petitionId = await open();
    const { organizationId } = client;
    const known = { organizationId, email: 'known@example.org', firstName: 'Ada', subscribed: false };
    const { contactId } = (await client.post('contact.create-contact', known)).body.data;
    const contact = { email: 'Known@Example.org', firstName: 'Eve', subscribed: true };
    const { status, body } = await sign(petitionId, { contact });
    expect([status, body.data.contactId]).toEqual([200, contactId]);
    const read = await client.get('contact.get-contact', { contactId, organizationId });
    expect(read.body.data).toMatchObject({ firstName: 'Ada', subscribed: false });
  });

  it('returns the first signature for repeats by id or address, with or without a key, and later', async () => {
    const petitionId = await open();
    const contact = { email: 'again@example.org' };
    const first = await sign(petitionId, { contact }, { 'Idempotency-Key': 'sign' });
    const { contactId } = first.body.data;
    expect((await sign(petitionId, { contact }, { 'Idempotency-Key': 'sign' })).body).toEqual(first.body);
    expect((await sign(petitionId, { contact })).body).toEqual(first.body);
    expect((await sign(petitionId, { contactId, comment: 'More' })).body).toEqual(first.body);
    await move('close', petitionId);
    expect((await sign(petitionId, { contact })).body).toEqual(first.body);
    expect((await sign(petitionId, { contactId })).body).toEqual(first.body);
    expect(await signed()).toBe(1);
  });

  it('returns the same 200 for identical requests of a new person in parallel on two instances', async () => {
    const petitionId = await open();
    const body = { petitionId, contact: { email: 'twin@example.org', city: 'Paris' }, comment: 'Twin' };
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) =>
        client.at(api.instances[n % 2]!.origin).post('petition.add-signature', body),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]!.body.data.signatures).toBe(1);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'PetitionSigned' || type === 'ContactCreated')).toHaveLength(2);
  });

  it('returns 409 with the fix for draft and closed petitions', async () => {
    const petitionId = await create();
    const contactId = await person();
    const draft = await sign(petitionId, { contactId });
    expect([draft.status, draft.body.error.code]).toEqual([409, 'CONFLICT']);
    expect(draft.body.error.message).toMatch(/Publish it/);
    await move('publish', petitionId);
    await move('close', petitionId);
    const closed = await sign(petitionId, { contactId });
    expect([closed.status, closed.body.error.code]).toEqual([409, 'CONFLICT']);
    expect(closed.body.error.message).toMatch(/closed/);
    const inline = await sign(petitionId, { contact: { email: 'late@example.org' } });
    expect(inline.status).toBe(409);
    expect((await client.get('contact.list-contacts', { email: 'late@example.org' })).body.data).toEqual([]);
  });

  it('returns 409 on an instance that did not close the petition', async () => {
    const petitionId = await open();
    const other = client.at(api.instances[1]!.origin);
    expect(
      (await other.post('petition.add-signature', { petitionId, contactId: await person() })).status,
    ).toBe(200);
    await move('close', petitionId);
    const late = await other.post('petition.add-signature', { petitionId, contactId: await person() });
    expect(late.status).toBe(409);
    expect(await signed()).toBe(1);
  });

  it.each([
    ['neither contact nor contactId', {}, 'contactId'],
    ['both contact and contactId', { contactId: NOBODY, contact: { email: 'a@example.org' } }, 'contactId'],
    ['a contact without an address', { contact: { firstName: 'Ada' } }, 'contact.email'],
    ['a contact with a bad address', { contact: { email: 'ada' } }, 'contact.email'],
    ['a contact with an unknown field', { contact: { email: 'a@example.org', age: 5 } }, 'contact.age'],
    ['a contact that is a string', { contact: 'ada@example.org' }, 'contact'],
    ['a contact that is null', { contact: null }, 'contact'],
    ['a contact that is a list', { contact: [] }, 'contact'],
    ['a comment of 10,001 characters', { contactId: NOBODY, comment: 'x'.repeat(10_001) }, 'comment'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await sign(await open(), fields);
    expect([status, body.error.issues?.[0].path]).toEqual([400, path]);
  });

  it('returns 404 for an unknown petition or contact, and for an erased contact', async () => {
    const petitionId = await open();
    const contactId = await person();
    expect((await sign(NOBODY, { contactId })).status).toBe(404);
    expect((await sign('x', { contactId })).status).toBe(404);
    expect((await sign(petitionId, { contactId: NOBODY })).status).toBe(404);
    expect((await sign(petitionId, { contactId: 'x', comment: 'Hi' })).status).toBe(404);
    expect((await sign(petitionId, { contactId: petitionId })).status).toBe(404);
    await client.delete('contact.delete-contact', { contactId });
    expect((await sign(petitionId, { contactId })).status).toBe(404);
    expect((await sign(petitionId, { contactId, comment: 'Hi' })).status).toBe(404);
    expect(await count(petitionId)).toBe(0);
  });

  it('returns 422 for a different request with the same key, and does not store a failed one', async () => {
    const petitionId = await create();
    const [one, two] = [await person(), await person()];
    const key = { 'Idempotency-Key': 'once' };
    expect((await sign(petitionId, { contactId: one }, key)).status).toBe(409);
    await move('publish', petitionId);
    expect((await sign(petitionId, { contactId: one }, key)).status).toBe(200);
    expect((await sign(petitionId, { contactId: two }, key)).status).toBe(422);
  });
});

/** The number of requests of each of ten clients. */
const TIMES = isLong ? 200 : 4;

it('a contact has at most one signature, however it is signed and withdrawn in parallel, with keys and without', async () => {
  const petitionId = await open();
  const contactId = await person();
  let key = 0;
  await Promise.all(
    Array.from({ length: 10 }, async (_, lane) => {
      for (let n = 0; n < TIMES; n += 1) {
        const there = client.at(api.instances[(lane + n) % 2]!.origin);
        const headers: Record<string, string> = n % 3 ? { 'Idempotency-Key': `k${(key += 1)}` } : {};
        const body = { petitionId, contactId };
        const { status } = await ((lane + n) % 5 < 3
          ? there.post('petition.add-signature', body, headers)
          : there.delete('petition.remove-signature', body, headers));
        expect(status).toBe(200);
      }
    }),
  );
  expect((await listed(petitionId)).length).toBeLessThanOrEqual(1);
  await withdraw(petitionId, contactId);
  expect([await count(petitionId), await listed(petitionId)]).toEqual([0, []]);
});

it('with an Idempotency-Key, the first response is returned with its count', async () => {
  const petitionId = await open();
  const contactId = await person();
  const headers = (key: string) => ({ 'Idempotency-Key': key });
  const requests = [
    () => sign(petitionId, { contactId }, headers('sign')),
    () => client.delete('petition.remove-signature', { petitionId, contactId }, headers('remove')),
    () => client.post('petition.update-petition', { petitionId, goal: 7 }, headers('update')),
    () => client.post('petition.close-petition', { petitionId }, headers('close')),
  ];
  const answers: unknown[] = [];
  for (const request of requests) {
    answers.push((await request()).body);
    await move('publish', petitionId);
    await sign(petitionId, { contactId: await person() });
  }
  for (const [n, request] of requests.entries()) expect((await request()).body).toEqual(answers[n]);
});

it('a person whose address changed is no longer found by the old one', async () => {
  const petitionId = await open();
  const { organizationId } = client;
  for (let round = 0; round < (isLong ? 15 : 4); round += 1) {
    const email = `moving-${round}@example.org`;
    const { body } = await client.post('contact.create-contact', { organizationId, email });
    const { contactId } = body.data;
    const there = client.at(api.instances[1]!.origin);
    const [, ...signatures] = await Promise.all([
      client.post('contact.update-contact', { contactId, email: `moved-${round}@example.org` }),
      ...Array.from({ length: 6 }, () =>
        there.post('petition.add-signature', { petitionId, contact: { email } }),
      ),
    ]);
    for (const { status } of signatures) expect(status).toBe(200);
  }
  const rows = await api.database.source.query(
    `SELECT s.position FROM events s JOIN events u
       ON u.stream_id = (s.data->>'contactId')::uuid AND u.type = 'ContactUpdated' AND u.position < s.position
     WHERE s.organization_id = $1 AND s.type = 'PetitionSigned'`,
    [organizationId],
  );
  expect(rows).toEqual([]);
});

describe('remove-signature', () => {
  it('returns 200, decreases the count, returns the same for a repeat, and allows signing again', async () => {
    const petitionId = await open();
    const contactId = await person();
    const first = (await sign(petitionId, { contactId })).body.data;
    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await withdraw(petitionId, contactId);
      expect([status, body]).toEqual([
        200,
        {
          data: { signatureId: first.signatureId, petitionId, contactId, signatures: 0 },
          object: 'signature',
        },
      ]);
    }
    expect(await listed(petitionId)).toEqual([]);
    const second = (await sign(petitionId, { contactId })).body.data;
    expect(second).toEqual({ ...first, signatureId: expect.any(String) });
    expect(second.signatureId).not.toBe(first.signatureId);
    expect(await listed(petitionId)).toHaveLength(1);
  });

  it('returns 200 and records nothing if the contact has not signed, and works after closing', async () => {
    const petitionId = await open();
    const [signer, other] = [await person(), await person()];
    await sign(petitionId, { contactId: signer });
    await move('close', petitionId);
    const before = await api.eventTypes(client.organizationId);
    const none = await withdraw(petitionId, other);
    expect([none.status, none.body.data]).toEqual([
      200,
      { signatureId: null, petitionId, contactId: other, signatures: 1 },
    ]);
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
    expect((await withdraw(petitionId, signer)).body.data.signatures).toBe(0);
  });

  it('withdraws once for parallel requests on two instances', async () => {
    const petitionId = await open();
    const contactId = await person();
    await sign(petitionId, { contactId });
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) =>
        client
          .at(api.instances[n % 2]!.origin)
          .delete('petition.remove-signature', { petitionId, contactId }),
      ),
    );
    expect(new Set(answers.map(({ status, body }) => [status, body.data?.signatures].join()))).toEqual(
      new Set(['200,0']),
    );
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'SignatureWithdrawn')).toHaveLength(1);
  });

  it('returns 404 for an unknown petition or contact', async () => {
    const petitionId = await open();
    expect((await withdraw(NOBODY, await person())).status).toBe(404);
    expect((await withdraw(petitionId, NOBODY)).status).toBe(404);
    expect((await withdraw(petitionId, 'x')).status).toBe(404);
  });
});

describe('comments', () => {
  const states = async (petitionId: string, more: object = {}) => {
    const { status, body } = await client.get('petition.list-signatures', {
      ...{ petitionId, sort: 'createdAt', ...more },
    });
    expect(status).toBe(200);
    return (body.data as Record<string, string>[]).map(({ comment, commentState }) => [
      comment,
      commentState,
    ]);
  };

  it('are hidden and shown again, counted as before, and listed as they were then', async () => {
    const petitionId = await open({ comments: 'APPROVED' });
    const sign = (name: string) =>
      signWithComment(api, client, petitionId, { email: `${name}-says@example.org`, comment: name });
    const [ada, grace, mary] = [await sign('ada'), await sign('grace'), await sign('mary')];
    await client.post('petition.add-signature', {
      petitionId,
      contact: { email: 'private@example.org' },
      comment: 'private',
    });
    const review = async (operation: string, signatureId: string) => {
      const { status, body } = await client.post(`petition.${operation}-comment`, { signatureId });
      return [status, body.data];
    };
    const reviewed = (signatureId: string, commentState: string) => [
      200,
      { signatureId, petitionId, commentState },
    ];
    expect(await review('show', ada)).toEqual(reviewed(ada, 'SHOWN'));
    expect(await review('hide', grace)).toEqual(reviewed(grace, 'HIDDEN'));
    const before = await api.moment();
    expect(await review('hide', ada)).toEqual(reviewed(ada, 'HIDDEN'));
    expect(await review('hide', ada)).toEqual(reviewed(ada, 'HIDDEN'));
    const now = [
      ['ada', 'HIDDEN'],
      ['grace', 'HIDDEN'],
      ['mary', 'WAITING'],
      ['private', null],
    ];
    expect(await states(petitionId)).toEqual(now);
    expect(await states(petitionId, { asOf: before })).toEqual([['ada', 'SHOWN'], ...now.slice(1)]);
    expect(await states(petitionId, { asOf: await api.moment() })).toEqual(now);
    expect(await states(petitionId, { commentState: 'HIDDEN', limit: '1' })).toEqual([['ada', 'HIDDEN']]);
    expect(await states(petitionId, { commentState: 'WAITING' })).toEqual([['mary', 'WAITING']]);
    expect((await get(petitionId)).body.data).toMatchObject({ signatures: 4, publicComments: false });

    // The signature moves to another contact with its comment; an erasure leaves neither.
    const { data } = (await client.get('petition.list-signatures', { petitionId, commentState: 'WAITING' }))
      .body;
    const { contactId } = (
      await client.post('contact.create-contact', {
        organizationId: client.organizationId,
        email: 'mary-kept@example.org',
      })
    ).body.data;
    await review('show', mary);
    await client.post('contact.merge-contacts', {
      organizationId: client.organizationId,
      contactId,
      otherIds: [data[0].contactId],
    });
    expect(await states(petitionId, { contactId, commentState: 'SHOWN' })).toEqual([['mary', 'SHOWN']]);
    expect(await states(petitionId, { contactId, commentState: 'HIDDEN' })).toEqual([]);
    await client.delete('contact.delete-contact', { organizationId: client.organizationId, contactId });
    expect(await states(petitionId, { commentState: 'SHOWN' })).toEqual([]);
    expect(await client.post('petition.hide-comment', { signatureId: mary })).toMatchObject({
      status: 409,
      body: { error: { reason: 'NO_PUBLIC_COMMENT' } },
    });
  });

  it.each(['show', 'hide'])(
    '%s-comment returns 404 for an unknown, foreign or withdrawn signature',
    async (how) => {
      const petitionId = await open({ comments: 'SHOWN' });
      const signatureId = await signWithComment(api, client, petitionId, {
        email: `${how}-gone@example.org`,
        comment: 'x',
      });
      const operation = `petition.${how}-comment`;
      expect((await (await api.organization()).post(operation, { signatureId })).status).toBe(404);
      const { data } = (await client.get('petition.list-signatures', { petitionId })).body;
      await client.delete('petition.remove-signature', { petitionId, contactId: data[0].contactId });
      for (const id of [signatureId, NOBODY])
        expect((await client.post(operation, { signatureId: id })).status).toBe(404);
    },
  );

  it('list-signatures returns 400 for a state with signatures that are not confirmed', async () => {
    const petitionId = await open();
    const bad = { petitionId, commentState: 'WAITING', status: 'PENDING' };
    expect(await client.get('petition.list-signatures', bad)).toMatchObject({ status: 400 });
  });
});

describe('an erased signer', () => {
  it('stays counted without name and comment, and the signature can no longer be withdrawn', async () => {
    const petitionId = await open();
    const contactId = await person();
    const { signatureId } = (await sign(petitionId, { contactId, comment: 'Secret' })).body.data;
    await sign(petitionId, { contactId: await person(), comment: 'Stays' });
    await client.delete('contact.delete-contact', { contactId });
    expect(await count(petitionId)).toBe(2);
    const erased = (await listed(petitionId)).find(({ id }: { id: string }) => id === signatureId);
    expect(erased).toMatchObject({ contactId: null, comment: null });
    const nothing = { signatureId: null, petitionId, contactId, signatures: 2 };
    expect((await withdraw(petitionId, contactId)).body.data).toEqual(nothing);
    expect(await count(petitionId)).toBe(2);
  });
});

describe('list-contacts by petitionId', () => {
  it('lists exactly the current signers, and returns 404 for an unknown petition', async () => {
    const petitionId = await open();
    const [one, two, three] = [await person(), await person(), await person()];
    for (const contactId of [one, two]) await sign(petitionId, { contactId });
    await sign(await open({ name: 'Another' }), { contactId: three });
    await withdraw(petitionId, two);
    const { body } = await client.get('contact.list-contacts', { petitionId });
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([one]);
    expect((await client.get('contact.list-contacts', { petitionId: NOBODY })).status).toBe(404);
    expect((await client.get('contact.list-contacts', { petitionId: 'x' })).status).toBe(404);
  });
});

describe('asOf', () => {
  it('returns the petition and its signatures as they were', async () => {
    const petitionId = await open();
    const contactId = await person();
    const moments: { at: string; answer: any }[] = [];
    const note = async () => {
      const answer = (await get(petitionId)).body;
      moments.push({ at: await api.moment(), answer });
    };
    await note();
    await sign(petitionId, { contactId });
    await note();
    await withdraw(petitionId, contactId);
    await client.post('petition.update-petition', { petitionId, goal: 7 });
    await note();
    await sign(petitionId, { contactId });
    await move('close', petitionId);
    await note();
    for (const { at, answer } of moments)
      expect((await get(petitionId, { asOf: at })).body).toEqual({
        ...answer,
        asOf: { moment: at, position: expect.any(Number) },
      });
    expect(moments.map(({ answer }: any) => answer.data.signatures)).toEqual([0, 1, 0, 1]);
    expect((await get(petitionId, { asOf: 'yesterday' })).status).toBe(400);
  });
});

describe('list-petitions', () => {
  it('filters by status and text, sorts by name and paginates, with exact counts', async () => {
    const petitionId = await open();
    await sign(petitionId, { contactId: await person() });
    await create({ name: 'Apple trees' });
    await create({ name: 'Bike lanes', title: 'For the river' });
    const page = async (query: Record<string, string>) =>
      (await client.get('petition.list-petitions', query)).body;
    const published = await page({ status: 'PUBLISHED' });
    expect(published.object).toBe('petitions');
    const { content, ...listed } = (await get(petitionId)).body.data;
    expect(published.data).toEqual([listed]);
    const whole = await page({ status: 'PUBLISHED', include: 'content' });
    expect(whole.data).toEqual([{ ...listed, content }]);
    const names = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name);
    expect(names(await page({ q: 'RIVER', sort: 'name' }))).toEqual(['Bike lanes', 'Save the river']);
    const first = await page({ sort: 'name', limit: '2' });
    expect([names(first), first.pagination.hasMore]).toEqual([['Apple trees', 'Bike lanes'], true]);
    const second = await page({ sort: 'name', limit: '2', cursor: first.pagination.cursor });
    expect([names(second), second.pagination]).toEqual([
      ['Save the river'],
      { cursor: null, hasMore: false },
    ]);
  });
});

it('returns 404 for a petition of another organization', async () => {
  const petitionId = await open();
  const contactId = await person();
  await sign(petitionId, { contactId });
  const mine = client;
  const other = await api.organization();
  client = other;
  const ownPetition = await open();
  const ownContact = await person();
  const answers = await Promise.all([
    other.get('petition.get-petition', { petitionId }),
    other.get('petition.get-petition', { petitionId, asOf: new Date().toISOString() }),
    other.post('petition.update-petition', { petitionId, name: 'Mine' }),
    other.post('petition.publish-petition', { petitionId }),
    other.post('petition.close-petition', { petitionId }),
    other.delete('petition.delete-petition', { petitionId }),
    other.get('petition.list-signatures', { petitionId }),
    other.get('contact.list-contacts', { petitionId }),
    sign(petitionId, { contactId: ownContact }),
    sign(petitionId, { contact: { email: 'spy@example.org' } }),
    sign(ownPetition, { contactId }),
    sign(ownPetition, { contactId, comment: 'Hi' }),
    withdraw(petitionId, ownContact),
    withdraw(ownPetition, contactId),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  const { organizationId } = mine;
  const foreign = await sign(ownPetition, { contact: { email: 'a@example.org', organizationId } });
  expect([foreign.status, foreign.body.error.code]).toEqual([403, 'FORBIDDEN']);
  expect((await other.get('contact.list-contacts', { email: 'spy@example.org' })).body.data).toEqual([]);
  client = mine;
  expect(await count(petitionId)).toBe(1);
});

it('list-signatures searches signers by name and address only for callers who may read contacts', async () => {
  const [petitionId, other] = [await open(), await open({ name: 'Other' })];
  const signer = async (email: string, firstName: string, petition = petitionId) =>
    (await sign(petition, { contact: { email, firstName, lastName: 'Smith' } })).body.data.contactId;
  const ada = await signer('ada@example.org', 'Ada');
  const grace = await signer('grace@rivers.example', 'Grace');
  await signer('adam@example.org', 'Adam', other);
  const found = async (query: Record<string, string>, by = client) => {
    const { status, body } = await by.get('petition.list-signatures', {
      petitionId,
      sort: 'createdAt',
      ...query,
    });
    return status === 200 ? body.data.map(({ contactId }: { contactId: string }) => contactId) : status;
  };
  expect(await found({ q: 'ada' })).toEqual([ada]);
  expect(await found({ q: 'a' })).toEqual([ada]);
  expect(await found({ q: 'SMITH' })).toEqual([ada, grace]);
  expect(await found({ q: '@rivers' })).toEqual([grace]);
  expect(await found({ q: 'smith', limit: '1' })).toEqual([ada]);
  expect(await found({ q: 'nobody' })).toEqual([]);
  await client.delete('contact.delete-contact', { contactId: grace });
  expect(await found({ q: 'smith' })).toEqual([ada]);
  expect(await found({})).toEqual([ada, null]);
  const { key } = await api.createKey(client.organizationId, { scopes: ['petition:read'] });
  const reader = new Client(api.origin, client.organizationId, key);
  expect([await found({ q: 'ada' }, reader), await found({}, reader)]).toEqual([403, [ada, null]]);
});
