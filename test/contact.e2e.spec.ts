import { v7 as uuidv7 } from 'uuid';
import { SharedApi, type Client, ISO } from './harness.js';
import { isLong } from './length.js';

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

let people = 0;
function person(fields: object = {}) {
  people += 1;
  return { organizationId: client.organizationId, email: `person-${people}@example.org`, ...fields };
}
async function create(fields: object = {}): Promise<string> {
  const { status, body } = await client.post('contact.create-contact', person(fields));
  expect(status).toBe(200);
  return body.data.contactId;
}
async function get(contactId: string, query: object = {}) {
  return client.get('contact.get-contact', {
    contactId,
    organizationId: client.organizationId,
    ...query,
  });
}

describe('create-contact', () => {
  it('returns 200 with the id, and get-contact returns every field', async () => {
    const { status, body } = await client.post(
      'contact.create-contact',
      person({ firstName: ' Ada ', city: '', bio: null }),
    );
    expect(status).toBe(200);
    expect(body).toEqual({ data: { contactId: expect.any(String), created: true }, object: 'contact' });

    const read = await get(body.data.contactId);
    expect(read.status).toBe(200);
    expect(read.body).toEqual({
      data: {
        id: body.data.contactId,
        createdAt: expect.stringMatching(ISO),
        updatedAt: expect.stringMatching(ISO),
        version: 1,
        email: `person-${people}@example.org`,
        firstName: 'Ada',
        lastName: null,
        bio: null,
        phone: null,
        mobile: null,
        address: null,
        zip: null,
        city: null,
        region: null,
        country: null,
        externalIds: [],
        customFields: {},
        organizationId: client.organizationId,
        subscribed: true,
      },
      object: 'contact',
    });
  });

  it('returns the same 200 for identical requests in parallel on two instances', async () => {
    const body = person({ firstName: 'Twin' });
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) =>
        client.at(api.instances[n % 2]!.origin).post('contact.create-contact', body),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ContactCreated')).toHaveLength(1);
    const list = await client.get('contact.list-contacts');
    expect(list.body.data).toHaveLength(1);
  });

  it('returns 200 once and 409 for all others with the same email address but different names', async () => {
    const { email } = person();
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) =>
        client
          .at(api.instances[n % 2]!.origin)
          .post('contact.create-contact', person({ email, firstName: `Name ${n}` })),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(TWINS - 1);
    expect(refused[0]!.body.error.code).toBe('CONFLICT');
  });

  it('returns the first id for the same body later, with defaults written out or omitted', async () => {
    const body = person({ firstName: 'Ada' });
    const first = await client.post('contact.create-contact', body);
    const again = await client.post('contact.create-contact', body);
    const written = await client.post('contact.create-contact', {
      ...body,
      firstName: ' Ada',
      lastName: null,
      subscribed: true,
      onConflict: 'fail',
    });
    expect(again.body).toEqual(first.body);
    expect(written.body).toEqual(first.body);
  });

  it('returns a new id for the same body after the contact was deleted', async () => {
    const body = person();
    const first = await client.post('contact.create-contact', body);
    await client.delete('contact.delete-contact', { contactId: first.body.data.contactId });
    const second = await client.post('contact.create-contact', body);
    expect(second.status).toBe(200);
    expect(second.body.data.contactId).not.toBe(first.body.data.contactId);
  });

  it('returns 409 for the same address in different case with different details', async () => {
    await create({ email: 'Grace@Example.org' });
    const { status, body } = await client.post(
      'contact.create-contact',
      person({ email: 'grace@example.ORG', firstName: 'Grace' }),
    );
    expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
  });

  it('returns 200 for the same address in another organization', async () => {
    const { email } = person();
    await create({ email });
    const other = await api.organization();
    const { status } = await other.post('contact.create-contact', {
      organizationId: other.organizationId,
      email,
    });
    expect(status).toBe(200);
  });

  describe('onConflict: update', () => {
    it('returns 200 with the existing id, merges the given details and keeps the others', async () => {
      const { email } = person();
      const contactId = await create({ email, firstName: 'Ada', city: 'London' });
      const { status, body } = await client.post(
        'contact.create-contact',
        person({ email: email.toUpperCase(), city: 'Paris', firstName: '', onConflict: 'update' }),
      );
      expect([status, body.data]).toEqual([200, { contactId, created: false }]);
      expect((await get(contactId)).body.data).toMatchObject({ email, firstName: 'Ada', city: 'Paris' });
    });

    it('returns 200 and creates the contact if no one has the address', async () => {
      const { status, body } = await client.post('contact.create-contact', person({ onConflict: 'update' }));
      expect(status).toBe(200);
      expect((await get(body.data.contactId)).body.data.subscribed).toBe(true);
    });

    it('resubscribes a contact only with an explicit true', async () => {
      const { email } = person();
      const contactId = await create({ email, subscribed: false });
      const update = (fields: object) =>
        client.post('contact.create-contact', person({ email, onConflict: 'update', ...fields }));
      await update({ city: 'Paris' });
      expect((await get(contactId)).body.data.subscribed).toBe(false);
      await update({ subscribed: true });
      expect((await get(contactId)).body.data.subscribed).toBe(true);
    });

    it('takes effect again after the record has changed', async () => {
      const { email } = person();
      const body = { organizationId: client.organizationId, email, city: 'Paris', onConflict: 'update' };
      const first = await client.post('contact.create-contact', body);
      const { contactId } = first.body.data;
      await client.post('contact.update-contact', { contactId, city: 'Rome' });
      await client.post('contact.create-contact', body);
      expect((await get(contactId)).body.data.city).toBe('Paris');
    });

    it('creates one contact for parallel requests on two instances', async () => {
      const body = person({ onConflict: 'update', city: 'Paris' });
      const answers = await Promise.all(
        Array.from({ length: TWINS }, (_, n) =>
          client.at(api.instances[n % 2]!.origin).post('contact.create-contact', body),
        ),
      );
      expect(new Set(answers.map(({ body }) => body.data.contactId)).size).toBe(1);
      expect(answers[0]!.status).toBe(200);
      expect(answers.filter(({ body }) => body.data.created)).toHaveLength(1);
    });

    it('repeats for an Idempotency-Key whether the first request created the contact', async () => {
      const body = person({ onConflict: 'update', city: 'Paris' });
      const createWith = async (key: string) =>
        (await client.post('contact.create-contact', body, { 'Idempotency-Key': key })).body.data.created;
      const [one, other] = [`${body.email} one`, `${body.email} other`].map((key) => key.replace(' ', '-'));
      expect([await createWith(one!), await createWith(other!)]).toEqual([true, false]);
      expect([await createWith(one!), await createWith(other!)]).toEqual([true, false]);
    });
  });

  it.each([
    ['no organizationId', { organizationId: undefined }, 'organizationId'],
    ['no email', { email: undefined }, 'email'],
    ['an invalid email address', { email: 'ada' }, 'email'],
    ['an email of 255 characters', { email: `${'a'.repeat(243)}@example.org` }, 'email'],
    ['null for the email', { email: null }, 'email'],
    ['a number for a name', { firstName: 1 }, 'firstName'],
    ['a name of 201 characters', { firstName: 'x'.repeat(201) }, 'firstName'],
    ['an object for a name', { firstName: { a: 1 } }, 'firstName'],
    ['a text for subscribed', { subscribed: 'true' }, 'subscribed'],
    ['null for subscribed', { subscribed: null }, 'subscribed'],
    ['an unknown onConflict', { onConflict: 'merge' }, 'onConflict'],
    ['an unknown field', { nickname: 'Ada' }, 'nickname'],
    ['a NUL character', { firstName: 'A\0da' }, 'firstName'],
    ['a lone surrogate', { firstName: 'A\ud800' }, 'firstName'],
  ])('returns 400 for %s', async (_, fields, path) => {
    const { status, body } = await client.post('contact.create-contact', person(fields));
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(body.error.issues.map((issue: any) => issue.path)).toEqual([path]);
    expect(await api.eventTypes(client.organizationId)).not.toContain('ContactCreated');
  });

  it.each([
    ['orgId', 'organizationId'],
    ['first_name', 'firstName'],
    ['Lastname', 'lastName'],
    ['on-conflict', 'onConflict'],
    ['postal_code', 'zip'],
    ['merge_fields', 'customFields'],
    ['listId', 'listIds'],
  ])('returns 400 for %s, and suggests %s', async (written, meant) => {
    const { status, body } = await client.post('contact.create-contact', person({ [written]: 'x' }));
    expect(status).toBe(400);
    expect(body.error.message).toContain(`${written} is not known: use ${meant}`);
  });

  it('returns 200 for emoji of the maximum length and lengths at the limit', async () => {
    const contactId = await create({ firstName: '😀'.repeat(200), bio: 'x'.repeat(10_000) });
    expect((await get(contactId)).body.data.firstName).toBe('😀'.repeat(200));
  });

  it('returns 403 for the id of another organization', async () => {
    const other = await api.organization();
    const { status, body } = await client.post(
      'contact.create-contact',
      person({ organizationId: other.organizationId }),
    );
    expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect(await api.eventTypes(other.organizationId)).not.toContain('ContactCreated');
  });
});

describe('get-contact', () => {
  it.each(['not-a-uuid', uuidv7(), uuidv7().toUpperCase(), '%00'])(
    'returns 404 for %s',
    async (contactId) => {
      const { status, body } = await get(contactId);
      expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
    },
  );

  it('returns 404 for a contact of another organization', async () => {
    const contactId = await create();
    const other = await api.organization();
    const { status } = await other.get('contact.get-contact', {
      contactId,
      organizationId: other.organizationId,
    });
    expect(status).toBe(404);
  });

  it('returns 400 without organizationId, for repeated or unknown fields and an invalid asOf', async () => {
    const contactId = await create();
    for (const query of [
      `contactId=${contactId}`,
      `contactId=${contactId}&contactId=${contactId}&organizationId=${client.organizationId}`,
      `contactId=${contactId}&organizationId=${client.organizationId}&verbose=1`,
      `contactId=${contactId}&organizationId=${client.organizationId}&asOf=yesterday`,
    ]) {
      const { status, body } = await client.request('GET', `/v1/contact.get-contact?${query}`);
      expect([status, body.error.code, body.error.issues.length]).toEqual([400, 'BAD_REQUEST', 1]);
    }
  });

  it('returns 200 with the record at asOf, and 404 before it existed', async () => {
    const contactId = await create({ city: 'London' });
    const london = (await get(contactId)).body;
    await api.moment();
    await client.post('contact.update-contact', { contactId, city: 'Paris' });
    const paris = (await get(contactId)).body;

    expect((await get(contactId, { asOf: london.data.updatedAt })).body.data).toEqual(london.data);
    expect((await get(contactId, { asOf: paris.data.updatedAt })).body.data).toEqual(paris.data);
    expect((await get(contactId, { asOf: '2020-01-01T00:00:00Z' })).status).toBe(404);
  });
});

describe('update-contact', () => {
  it('returns 200 with the whole record: given fields change, null clears, the rest stays', async () => {
    const contactId = await create({ firstName: 'Ada', city: 'London', phone: '1' });
    const { status, body } = await client.post('contact.update-contact', {
      contactId,
      city: 'Paris',
      phone: null,
      subscribed: false,
    });
    expect([status, body.object]).toEqual([200, 'contact']);
    expect(body.data).toMatchObject({ firstName: 'Ada', city: 'Paris', phone: null, subscribed: false });
    expect((await get(contactId)).body).toEqual(body);
  });

  it('records nothing if nothing changes, and returns the same record', async () => {
    const contactId = await create({ city: 'London' });
    const first = await client.post('contact.update-contact', { contactId, city: 'Paris' });
    const again = await client.post('contact.update-contact', { contactId, city: 'Paris' });
    expect(again.body).toEqual(first.body);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ContactUpdated')).toHaveLength(1);
  });

  it('returns 409 for a taken address, and frees the old address after a change', async () => {
    const [a, b] = [person().email, person().email];
    const contactId = await create({ email: a });
    await create({ email: b });
    const taken = await client.post('contact.update-contact', { contactId, email: b.toUpperCase() });
    expect([taken.status, taken.body.error.code]).toEqual([409, 'CONFLICT']);
    const moved = await client.post('contact.update-contact', { contactId, email: `new-${a}` });
    expect(moved.body.data.email).toBe(`new-${a}`);
    await create({ email: a, firstName: 'Next' });
  });

  it('returns 200 for a change of case in the contact’s own address', async () => {
    const { email } = person();
    const contactId = await create({ email });
    const { body } = await client.post('contact.update-contact', { contactId, email: email.toUpperCase() });
    expect(body.data.email).toBe(email.toUpperCase());
  });

  it('returns 400 for a null email, and 404 for unknown, foreign and erased contacts', async () => {
    const contactId = await create();
    expect((await client.post('contact.update-contact', { contactId, email: null })).status).toBe(400);
    expect((await client.post('contact.update-contact', { contactId: 'x', city: 'y' })).status).toBe(404);
    const other = await api.organization();
    expect((await other.post('contact.update-contact', { contactId, city: 'y' })).status).toBe(404);
    await client.delete('contact.delete-contact', { contactId });
    expect((await client.post('contact.update-contact', { contactId, city: 'y' })).status).toBe(404);
  });

  it('loses no update when several fields are changed in parallel', async () => {
    const contactId = await create();
    const fields = ['firstName', 'lastName', 'phone', 'mobile', 'address', 'zip', 'city', 'country'];
    const answers = await Promise.all(
      fields.map((field, n) =>
        client.at(api.instances[n % 2]!.origin).post('contact.update-contact', { contactId, [field]: 'set' }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(fields.map(() => 200));
    const { body } = await get(contactId);
    expect(fields.map((field) => body.data[field])).toEqual(fields.map(() => 'set'));
  });
});

it('returns 200 for different parallel updates and upserts of one contact on two instances', async () => {
  const { email } = person();
  const contactId = await create({ email });
  const answers = await Promise.all(
    Array.from({ length: TWINS }, (_, n) => {
      const at = client.at(api.instances[n % 2]!.origin);
      return n % 3
        ? at.post('contact.update-contact', { contactId, city: `City ${n}` })
        : at.post('contact.create-contact', person({ email, city: `City ${n}`, onConflict: 'update' }));
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
});

describe('delete-contact', () => {
  it('returns 200 with the id, even for repeats, then the contact is no longer returned or listed', async () => {
    const contactId = await create();
    const first = await client.delete('contact.delete-contact', { contactId });
    const again = await client.delete('contact.delete-contact', { contactId });
    expect([first.status, first.body]).toEqual([200, { data: { contactId }, object: 'contact' }]);
    expect(again.body).toEqual(first.body);
    expect((await get(contactId)).status).toBe(404);
    expect((await client.get('contact.list-contacts')).body.data).toEqual([]);
    const types = await api.eventTypes(client.organizationId);
    expect(types.filter((type) => type === 'ContactErased')).toHaveLength(1);
  });

  it('returns 404 for unknown and foreign contacts', async () => {
    const contactId = await create();
    const other = await api.organization();
    expect((await other.delete('contact.delete-contact', { contactId })).status).toBe(404);
    expect((await client.delete('contact.delete-contact', { contactId: uuidv7() })).status).toBe(404);
    expect((await get(contactId)).status).toBe(200);
  });

  it('keeps the history, with the personal details erased', async () => {
    const contactId = await create({ city: 'London' });
    const { createdAt } = (await get(contactId)).body.data;
    await api.moment();
    await client.delete('contact.delete-contact', { contactId });
    const { status, body } = await get(contactId, { asOf: createdAt });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id: contactId, email: null, city: null, subscribed: true });
  });
});

it('leaves no samples of personal data in PostgreSQL’s statistics', async () => {
  for (let n = 0; n < 5; n += 1) await create({ firstName: 'Sampled', city: 'Sampled' });
  await api.database.source.query('ANALYZE contacts_v5.contacts');
  const sampled = await api.database.source.query(
    `SELECT attname FROM pg_stats WHERE schemaname = 'contacts_v5' AND tablename = 'contacts'`,
  );
  expect(sampled.map(({ attname }: { attname: string }) => attname).sort()).toEqual([
    'created_at',
    'id',
    'organization_id',
    'subscribed',
    'updated_at',
    'version',
  ]);
});

describe('list-contacts', () => {
  it('returns each contact exactly once across all pages, while contacts are added', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.push(await create());
    for (const sort of ['createdAt', '-createdAt', 'updatedAt', '-updatedAt', 'email', '-email']) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const { status, body } = await client.get('contact.list-contacts', {
          limit: '5',
          sort,
          ...(cursor ? { cursor } : {}),
        });
        expect([status, body.object]).toEqual([200, 'contacts']);
        expect(body.pagination.hasMore).toBe(body.pagination.cursor !== null);
        seen.push(...body.data.map(({ id }: { id: string }) => id));
        cursor = body.pagination.cursor;
        await create();
      } while (cursor);
      expect(seen.filter((id) => ids.includes(id)).sort()).toEqual([...ids].sort());
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  it('filters and searches', async () => {
    const ada = await create({ firstName: 'Ada', lastName: 'Lovelace', city: 'London', country: 'UK' });
    await create({ firstName: 'Grace', city: 'New York', subscribed: false });
    const ids = async (query: Record<string, string>) =>
      (await client.get('contact.list-contacts', query)).body.data.map(({ id }: { id: string }) => id);
    const { email } = (await get(ada)).body.data;
    expect(await ids({ city: 'London' })).toEqual([ada]);
    expect(await ids({ email: email.toUpperCase() })).toEqual([ada]);
    expect(await ids({ subscribed: 'true' })).toEqual([ada]);
    expect(await ids({ q: 'ada love' })).toEqual([ada]);
    expect(await ids({ q: '%' })).toEqual([]);
    expect(await ids({ createdAfter: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await ids({ city: 'London', country: 'FR' })).toEqual([]);
    for (const country of ['UK', 'GB', 'united kingdom', 'Vereinigtes Königreich'])
      expect(await ids({ country })).toEqual([ada]);
    expect(await ids({ region: 'Essex' })).toEqual([]);
  });

  it('never includes contacts of other organizations', async () => {
    await create();
    const other = await api.organization();
    expect((await other.get('contact.list-contacts')).body).toEqual({
      data: [],
      object: 'contacts',
      pagination: { cursor: null, hasMore: false },
    });
  });

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['limit', 'ten'],
    ['cursor', 'rubbish'],
    ['cursor', Buffer.from('["-createdAt","x","y"]').toString('base64url')],
    ['cursor', Buffer.from(`["-createdAt","infinity","${uuidv7()}"]`).toString('base64url')],
    ['sort', 'city'],
    ['subscribed', '1'],
    ['createdAfter', '2026-13-01T00:00:00Z'],
    ['city', ''],
  ])('returns 400 for %s=%s', async (name, value) => {
    const { status, body } = await client.get('contact.list-contacts', { [name]: value });
    expect([status, body.error.issues[0].path]).toEqual([400, name]);
  });

  it('returns 400 for a cursor of another sort order', async () => {
    for (let n = 0; n < 3; n += 1) await create();
    const { body } = await client.get('contact.list-contacts', { limit: '1' });
    const { cursor } = body.pagination;
    const { status } = await client.get('contact.list-contacts', { limit: '1', sort: 'email', cursor });
    expect(status).toBe(400);
  });
});

describe('Idempotency-Key', () => {
  const key = { 'Idempotency-Key': 'order-1' };

  it('returns the first response to a repeat, and 422 for a different body', async () => {
    const body = person({ firstName: 'Ada' });
    const first = await client.post('contact.create-contact', body, key);
    const again = await client.post('contact.create-contact', body, key);
    const other = await client.post('contact.create-contact', { ...body, firstName: 'Eve' }, key);
    expect(again.body).toEqual(first.body);
    expect([other.status, other.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it('returns the first response to a repeated update, whatever changed since', async () => {
    const contactId = await create();
    const body = { contactId, city: 'Paris' };
    const first = await client.post('contact.update-contact', body, key);
    await client.post('contact.update-contact', { contactId, city: 'Rome' });
    const again = await client.post('contact.update-contact', body, key);
    expect(again.body).toEqual(first.body);
    expect((await get(contactId)).body.data.city).toBe('Rome');
  });

  it('is stored for an update that changed nothing', async () => {
    const contactId = await create({ city: 'Paris' });
    await client.post('contact.update-contact', { contactId, city: 'Paris' }, key);
    const other = await client.post('contact.update-contact', { contactId, city: 'Rome' }, key);
    expect(other.status).toBe(422);
  });

  it('creates one contact for parallel requests on two instances, and returns 409 for another key', async () => {
    const body = person();
    const answers = await Promise.all(
      Array.from({ length: TWINS }, (_, n) =>
        client.at(api.instances[n % 2]!.origin).post('contact.create-contact', body, key),
      ),
    );
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]!.status).toBe(200);
    const twin = await client.post('contact.create-contact', body, { 'Idempotency-Key': 'order-2' });
    expect(twin.status).toBe(409);
  });

  it('is not used up by a failed request, and applies to one operation of one organization', async () => {
    const body = person();
    expect((await client.post('contact.create-contact', { ...body, email: 'x' }, key)).status).toBe(400);
    expect((await client.post('contact.update-contact', { contactId: uuidv7() }, key)).status).toBe(404);
    const created = await client.post('contact.create-contact', body, key);
    expect(created.status).toBe(200);
    const { contactId } = created.body.data;
    expect((await client.post('contact.update-contact', { contactId, city: 'x' }, key)).status).toBe(422);
    const other = await api.organization();
    const elsewhere = { ...body, organizationId: other.organizationId };
    expect((await other.post('contact.create-contact', elsewhere, key)).status).toBe(200);
  });

  it('returns the first response to a repeated delete', async () => {
    const contactId = await create();
    const first = await client.delete('contact.delete-contact', { contactId }, key);
    const again = await client.delete('contact.delete-contact', { contactId }, key);
    expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
  });

  it.each(['', 'x'.repeat(256), 'two words'])('returns 400 for %j', async (value) => {
    const { status, body } = await client.post('contact.create-contact', person(), {
      'Idempotency-Key': value,
    });
    expect([status, body.error.issues[0].path]).toEqual([400, 'Idempotency-Key']);
  });
});
