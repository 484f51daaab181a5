import { type Answer, type Client, ISO, SharedApi } from './harness.js';
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

const SOURCE = 'Paper list, Lyon market';
const TEXT = 'Rivers may send me email updates.';
const EVIDENCE = { source: SOURCE, text: TEXT, at: '2024-05-31T12:00:00.000Z', ip: '203.0.113.7' };
const NO_EVIDENCE = { source: null, text: null, language: null, ip: null };

async function create(fields: object = {}): Promise<string> {
  const { organizationId } = client;
  const answer = await client.post('contact.create-contact', {
    organizationId,
    email: 'ada@example.org',
    ...fields,
  });
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  return answer.body.data.contactId;
}
const update = (contactId: string, fields: object): Promise<Answer> =>
  client.post('contact.update-contact', { contactId, ...fields });
async function consentsOf(contactId: string, query: Record<string, string> = {}): Promise<any[]> {
  const { status, body } = await client.get('contact.list-consents', { contactId, ...query });
  expect([status, body.object]).toEqual([200, 'consents']);
  return body.data;
}
const given = (consents: any[]): boolean[] => consents.map((consent) => consent.given);

describe('list-consents', () => {
  it('returns 200 with every field when a contact is created with evidence', async () => {
    const contactId = await create({ subscribed: true, consent: EVIDENCE });
    const actor = { type: 'api-key', id: expect.any(String) };
    expect(await consentsOf(contactId)).toEqual([
      { given: true, ...EVIDENCE, language: null, actor, eventId: expect.any(String) },
    ]);
  });

  it('names the event that proves each consent', async () => {
    const contactId = await create({ subscribed: true, consent: EVIDENCE });
    await update(contactId, { subscribed: false });
    const types = [];
    for (const { eventId } of await consentsOf(contactId))
      types.push((await client.get('history.get-event', { eventId })).body.data.type);
    expect(types).toEqual(['ContactUnsubscribed', 'ConsentRecorded']);
  });

  it('shows each change, newest first, even without evidence', async () => {
    const contactId = await create();
    await update(contactId, { city: 'Lyon' });
    await update(contactId, { subscribed: false });
    await update(contactId, { subscribed: true, city: 'Paris', consent: { text: TEXT } });
    const consents = await consentsOf(contactId);
    expect(given(consents)).toEqual([true, false, true]);
    expect(consents[0]).toMatchObject({ ...NO_EVIDENCE, text: TEXT, at: expect.stringMatching(ISO) });
    expect(consents[1]).toMatchObject({ ...NO_EVIDENCE, at: expect.stringMatching(ISO) });
  });

  it('shows renewed consent, but the same evidence only once', async () => {
    const contactId = await create();
    for (const text of ['One', 'Other', 'Other'])
      await update(contactId, { subscribed: true, consent: { text } });
    const consents = await consentsOf(contactId);
    expect(consents.map(({ text }) => text)).toEqual(['Other', 'One', null]);
  });

  it('shows the same evidence again if it changes the contact again', async () => {
    const contactId = await create({ subscribed: true, consent: EVIDENCE });
    await update(contactId, { subscribed: false });
    await update(contactId, { subscribed: true, consent: EVIDENCE });
    const consents = await consentsOf(contactId);
    expect([given(consents), consents.map(({ text }) => text)]).toEqual([
      [true, false, true],
      [TEXT, null, TEXT],
    ]);
  });

  it.each(['1', '2', '3', '100'])('shows each consent once, in order, on pages of %s', async (limit) => {
    const contactId = await create({ subscribed: true, consent: { text: '0' } });
    for (const text of ['1', '2', '3', '4', '5'])
      await update(contactId, { subscribed: text > '3' || text === '2', consent: { text } });
    const texts: string[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null && pages < 10; pages += 1) {
      const query: Record<string, string> = { contactId, limit, ...(cursor && { cursor }) };
      const { data, pagination }: any = (await client.get('contact.list-consents', query)).body;
      expect(data.length).toBeLessThanOrEqual(Number(limit));
      texts.push(...data.map(({ text }: any) => text));
      expect(pagination.hasMore).toBe(pagination.cursor !== null);
      ({ cursor } = pagination);
    }
    expect(texts).toEqual(['5', '4', '3', '2', '1', '0']);
  });

  longIt('shows each consent once on pages that end early because of their size', async () => {
    const contactId = await create();
    const wide = (n: number) => `${n}${'\u0001'.repeat(1_990)}`;
    for (let n = 0; n < 100; n += 1)
      await update(contactId, { subscribed: n % 2 === 1, consent: { text: wide(n) } });
    const texts: string[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null && pages < 10; pages += 1) {
      const query: Record<string, string> = { contactId, limit: '100', ...(cursor && { cursor }) };
      const { data, pagination }: any = (await client.get('contact.list-consents', query)).body;
      texts.push(...data.map(({ text }: any) => text));
      ({ cursor } = pagination);
    }
    expect(texts.map((text) => text && parseInt(text))).toEqual([
      ...Array.from({ length: 100 }, (_, n) => 99 - n),
      null,
    ]);
  });

  it('returns 400 for a cursor of another list', async () => {
    const contactId = await create();
    const { status, body } = await client.get('contact.list-consents', { contactId, cursor: 'x' });
    expect([status, body.error.issues[0].path]).toEqual([400, 'cursor']);
  });

  it('returns 404 after the contact is erased, and the history keeps no evidence', async () => {
    const contactId = await create({ subscribed: true, consent: EVIDENCE });
    await client.delete('contact.delete-contact', { contactId });
    expect((await client.get('contact.list-consents', { contactId })).status).toBe(404);
    const { body } = await client.get('history.list-events', { limit: '1000' });
    expect(JSON.stringify(body)).toContain('ConsentRecorded');
    for (const value of [SOURCE, TEXT, EVIDENCE.ip, '2024-05-31'])
      expect(JSON.stringify(body)).not.toContain(value);
  });
});

describe('consent', () => {
  it.each([
    ['source', 'x'.repeat(201)],
    ['text', 'x'.repeat(2_001)],
    ['at', '3000-01-01T00:00:00Z'],
    ['at', 'yesterday'],
    ['ip', '300.1.1.1'],
    ['ip', 'localhost'],
    ['language', 'en'],
  ])('returns 400 when %s is %s', async (field, value) => {
    const { organizationId } = client;
    const { status, body } = await client.post('contact.create-contact', {
      organizationId,
      email: 'ada@example.org',
      subscribed: true,
      consent: { [field]: value },
    });
    expect([status, body.error.issues[0].path]).toEqual([400, `consent.${field}`]);
  });

  it('accepts IPv6 and times with another offset', async () => {
    const consent = { ip: '2001:db8::7', at: '2024-05-31T14:00:00+02:00' };
    const contactId = await create({ subscribed: true, consent });
    expect(await consentsOf(contactId)).toMatchObject([
      { ip: '2001:db8::7', at: '2024-05-31T12:00:00.000Z' },
    ]);
  });

  it('returns 400 without a yes or no: create-contact, update-contact, add-signature', async () => {
    const contactId = await create();
    const { organizationId } = client;
    const contact = { email: 'grace@example.org', consent: EVIDENCE };
    for (const [path, answer] of [
      ['subscribed', await client.post('contact.create-contact', { organizationId, ...contact })],
      ['subscribed', await update(contactId, { consent: EVIDENCE })],
      ['contact.subscribed', await client.post('petition.add-signature', { petitionId: contactId, contact })],
    ] as const)
      expect([answer.status, answer.body.error.issues[0].path]).toEqual([400, path]);
  });

  it('create-contact merges the evidence into the existing contact with the change', async () => {
    const contactId = await create({ subscribed: false });
    await create({ onConflict: 'update', subscribed: true, consent: EVIDENCE });
    const consents = await consentsOf(contactId);
    expect([given(consents), consents[0].text]).toEqual([[true, false], TEXT]);
  });

  describe('of add-signature', () => {
    async function sign(fields: object): Promise<any> {
      const { petitionId } = (await client.post('petition.create-petition', { name: 'Clean rivers' })).body
        .data;
      await client.post('petition.publish-petition', { petitionId });
      const contact = { email: 'ada@example.org', ...fields };
      const { status, body } = await client.post('petition.add-signature', { petitionId, contact });
      expect(status).toBe(200);
      return body.data;
    }
    const contactId = async () =>
      (await client.get('contact.list-contacts', { email: 'ada@example.org' })).body.data[0].id as string;

    it('records it for a new contact', async () => {
      expect(await sign({ subscribed: true, consent: EVIDENCE })).toMatchObject({ consentRecorded: true });
      expect(await consentsOf(await contactId())).toMatchObject([{ given: true, ...EVIDENCE }]);
      expect(await sign({})).toMatchObject({ consentRecorded: null });
    });

    it('records it for a contact who has agreed before', async () => {
      await create();
      await sign({ subscribed: true, consent: EVIDENCE });
      expect(given(await consentsOf(await contactId()))).toEqual([true, true]);
    });

    it('changes no contact who said no, and reports it', async () => {
      await create({ subscribed: false });
      expect(await sign({ subscribed: true, consent: EVIDENCE })).toMatchObject({ consentRecorded: false });
      expect(given(await consentsOf(await contactId()))).toEqual([false]);
    });

    it('unsubscribes a contact who refuses with evidence, even if they have signed before', async () => {
      const id = await create();
      const { petitionId } = await sign({ subscribed: false });
      expect(given(await consentsOf(id))).toEqual([true]);
      const contact = { email: 'ada@example.org', subscribed: false, consent: EVIDENCE };
      const { body } = await client.post('petition.add-signature', { petitionId, contact });
      expect(body.data).toMatchObject({ consentRecorded: true, signatures: 1 });
      expect(await consentsOf(id)).toMatchObject([{ given: false, ...EVIDENCE }, { given: true }]);
      const { subscribed } = (
        await client.get('contact.get-contact', { contactId: id, organizationId: client.organizationId })
      ).body.data;
      expect(subscribed).toBe(false);
    });
  });
});

describe('of import-contacts', () => {
  const LATER = new Date(Date.now() + 55_000).toISOString();

  async function imported(columns: string, row: string, query: object = {}): Promise<any> {
    const parameters = new URLSearchParams({ onConflict: 'update', ...query });
    const path = `/v1/contact.import-contacts?${parameters.toString()}`;
    const table = `email,${columns}\nada@example.org,${row}\n`;
    const { status, body } = await client.request('POST', path, table, { 'Content-Type': 'text/csv' });
    expect([status, body.error]).toEqual([200, undefined]);
    return body.data;
  }
  const ada = async () =>
    (await client.get('contact.list-contacts', { email: 'ada@example.org' })).body.data[0];
  const consents = async () => consentsOf((await ada()).id);

  it('records the opt-in time, IP address and source of subscribed contacts', async () => {
    await imported(
      'status,Opt-in time,Opt-in IP,Source',
      'subscribed,2024-05-31 12:00:00,203.0.113.7,"Fair, Lyon"',
    );
    const evidence = { at: '2024-05-31T12:00:00.000Z', ip: '203.0.113.7', source: 'Fair, Lyon', text: null };
    expect(await consents()).toMatchObject([{ given: true, ...evidence }]);
  });

  it('uses the first non-empty value of OPTIN_TIME and CONFIRM_TIME', async () => {
    await imported('OPTIN_TIME,CONFIRM_TIME', ',2024-05-31 12:00:00', { subscribed: 'true' });
    expect(await consents()).toMatchObject([{ given: true, at: '2024-05-31T12:00:00.000Z' }]);
  });

  it('records no opt-in as evidence of a no', async () => {
    await imported('status,OPTIN_TIME,OPTIN_IP', 'unsubscribed,2024-05-31 12:00:00,203.0.113.7');
    expect(await consents()).toMatchObject([{ given: false, ...NO_EVIDENCE }]);
  });

  it.each([
    ['OPTIN_TIME', '03/04/2024', /^consentTime must be an unambiguous date/],
    ['OPTIN_TIME', '3000-01-01', /^consentTime must not be in the future/],
    ['OPTIN_IP', 'localhost', /^consentIp must be an IP address/],
    ['source', 'x'.repeat(201), /^consentSource must have at most 200/],
  ])('rejects a row whose %s is %s', async (column, cell, message) => {
    const { failed } = await imported(column, cell, { subscribed: 'true' });
    expect(failed).toEqual([{ line: 2, message: expect.stringMatching(message) }]);
  });

  it('records nothing and changes nothing when the same file is imported again', async () => {
    const file = ['status,OPTIN_TIME', 'subscribed,2024-05-31 12:00:00'] as const;
    expect(await imported(...file)).toMatchObject({ created: 1 });
    expect(await imported(...file)).toMatchObject({ unchanged: 1 });
    expect(await consents()).toHaveLength(1);
  });

  it('adds the evidence to a subscribed contact only with onConflict=update', async () => {
    await create();
    const file = ['status,OPTIN_TIME', 'subscribed,2024-05-31 12:00:00'] as const;
    expect(await imported(...file, { onConflict: 'fail' })).toMatchObject({ unchanged: 1 });
    expect(await imported(...file)).toMatchObject({ updated: 1 });
    expect(await consents()).toMatchObject([
      { given: true, at: '2024-05-31T12:00:00.000Z' },
      { given: true },
    ]);
  });

  it('rejects an NDJSON line whose consent has no yes or no', async () => {
    const line = { email: 'ada@example.org', consent: { text: TEXT } };
    const first = { email: 'grace@example.org', subscribed: true, consent: { text: TEXT } };
    const body = `${JSON.stringify(first)}\n${JSON.stringify(line)}\n`;
    const type = { 'Content-Type': 'application/x-ndjson' };
    const answer = await client.request('POST', '/v1/contact.import-contacts', body, type);
    expect(answer.body.data).toMatchObject({ created: 1, failed: [{ line: 2 }] });
  });

  describe('an unsubscribed contact', () => {
    it('is subscribed again if the row proves a later consent', async () => {
      await create({ subscribed: false });
      const later = new Date(Date.now() + 55_000).toISOString();
      expect(await imported('status,OPTIN_TIME', `subscribed,${later}`)).toMatchObject({ updated: 1 });
      expect(await ada()).toMatchObject({ subscribed: true });
      expect(await consents()).toMatchObject([
        { given: true, at: later.slice(0, 19) + '.000Z' },
        { given: false },
      ]);
    });

    it.each([
      ['agreed before', 'status,OPTIN_TIME', 'subscribed,2024-05-31', {}],
      ['has no time', 'status,OPTIN_IP', 'subscribed,203.0.113.7', {}],
      ['says no', 'status,OPTIN_TIME', `unsubscribed,${LATER}`, {}],
      ['must not update contacts', 'status,OPTIN_TIME', `subscribed,${LATER}`, { onConflict: 'fail' }],
    ])('stays unsubscribed if the row %s', async (_, columns, row, query) => {
      await create({ subscribed: false });
      await imported(columns, row, query);
      expect(await ada()).toMatchObject({ subscribed: false });
      expect(given(await consents())).toEqual([false]);
    });

    it.each([
      ['and nothing else', 'email,status', ['ada@example.org,unsubscribed'], { updated: 1, failedCount: 0 }],
      [
        'and other details, which fail',
        'email,status,city',
        ['ada@example.org,unsubscribed,Paris'],
        { updated: 0, failedCount: 1 },
      ],
      [
        'in a column of opt-outs',
        'email,Do Not Email',
        ['ada@example.org,1'],
        { updated: 1, failedCount: 0 },
      ],
    ])(
      'is unsubscribed by a row that says no %s, although the import skips contacts',
      async (_, columns, rows, counts) => {
        await create({ subscribed: true, city: 'London' });
        for (const expected of [counts, { ...counts, updated: 0 }]) {
          const query = 'subscribed=true&onConflict=fail';
          const body = [columns, ...rows].join('\n');
          const { body: answer } = await client.request(
            'POST',
            `/v1/contact.import-contacts?${query}`,
            body,
            {
              'Content-Type': 'text/csv',
            },
          );
          expect(answer.data).toMatchObject(expected);
          expect(await ada()).toMatchObject({ subscribed: false, city: 'London' });
        }
      },
    );

    it.each(['UNSUBSCRIBED', 'BOUNCED', 'MANUAL'])(
      'stays unsubscribed while the address is suppressed as %s',
      async (reason) => {
        await create({ subscribed: false });
        await client.post('suppression.create-suppression', { email: 'ada@example.org', reason });
        await imported('status,OPTIN_TIME', `subscribed,${LATER}`);
        expect(await ada()).toMatchObject({ subscribed: false });
      },
    );
  });
});
