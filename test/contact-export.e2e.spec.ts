import { once } from 'node:events';
import { get } from 'node:http';
import { Api, Client, DatabaseGate, NOBODY } from './harness.js';
import { Deployment, eventually } from './processes.js';
import { longIt } from './length.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

const TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' };
const HEADER =
  'id,createdAt,updatedAt,version,email,firstName,lastName,bio,phone,mobile,address,zip,city,region,country,externalIds,organizationId,subscribed';

const exportFrom = (caller: Client, query: Record<string, string> = {}) =>
  caller.get('contact.export-contacts', query);

function importInto(caller: Client, body: string, format: keyof typeof TYPES = 'ndjson') {
  const headers = { 'Content-Type': TYPES[format] };
  return caller.request('POST', '/v1/contact.import-contacts?subscribed=true', body, headers);
}

async function create(...contacts: object[]): Promise<void> {
  const { body } = await importInto(client, contacts.map((contact) => JSON.stringify(contact)).join('\n'));
  expect(body.data.created).toBe(contacts.length);
}

const parse = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const emailsOf = (text: string) => (text === '' ? [] : parse(text).map(({ email }) => email));

/** Contacts with everything that makes CSV hard. 210 of them cover every combination. */
const people = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    email: `person-${n}@example.org`,
    firstName: n % 3 ? `Ada "${n}"` : null,
    lastName: n % 5 ? `O'Brien, ${n}` : null,
    bio: n % 7 ? null : `Line 1\nLine 2\r\nLine "3", ${'é😀'.repeat(n % 50)}`,
    city: ['Łódź', '=1+1', '-', "'=1+1", null][n % 5],
    phone: n % 2 ? '+49 89 1' : null,
    subscribed: n % 2 === 0,
  }));

describe('export-contacts', () => {
  it('returns 200 with every record as get-contact returns it, oldest first', async () => {
    await create({ email: 'ada@example.org', firstName: 'Ada', subscribed: false });
    await create({ email: 'grace@example.org' });
    const { status, body, headers } = await exportFrom(client);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(emailsOf(body)).toEqual(['ada@example.org', 'grace@example.org']);
    for (const record of parse(body)) {
      const { organizationId } = client;
      const read = await client.get('contact.get-contact', { contactId: record.id, organizationId });
      expect(record).toEqual(read.body.data);
    }
  });

  it('returns 200 with CSV: a header line, then the same fields in the same order', async () => {
    await create({ email: 'ada@example.org', bio: 'a,"b"\nc', subscribed: false });
    const { body: ndjson } = await exportFrom(client);
    const [{ id, createdAt, updatedAt, version, organizationId }] = parse(ndjson);
    const { status, body, headers } = await exportFrom(client, { format: 'csv' });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    const row = `${id},${createdAt},${updatedAt},${version},ada@example.org,,,"a,""b""\nc",,,,,,,,,${organizationId},false`;
    expect(body).toBe(`${HEADER}\r\n${row}\r\n`);
  });

  it('returns a file that is safe to open: no CSV cell runs as a formula, and NDJSON is unchanged', async () => {
    const formula = '=HYPERLINK("http://evil.example","x")';
    await create({ email: 'ada@example.org', firstName: formula, lastName: "'-1", phone: '+49 89 1' });
    for (const format of ['csv', 'ndjson']) {
      const { headers } = await exportFrom(client, { format });
      expect(headers.get('content-disposition')).toBe(`attachment; filename="contacts.${format}"`);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    const { body: csv } = await exportFrom(client, { format: 'csv' });
    expect(csv).toContain(`,"'=HYPERLINK(""http://evil.example"",""x"")",''-1,,'+49 89 1,`);
    const [record] = parse((await exportFrom(client)).body);
    expect(record).toMatchObject({ firstName: formula, lastName: "'-1", phone: '+49 89 1' });
    expect((await importInto(client, csv, 'csv')).body.data).toMatchObject({ unchanged: 1, failedCount: 0 });
  });

  it('returns 200 with nothing, or only the header, for an organization without contacts', async () => {
    const empty = await exportFrom(client);
    expect([empty.status, empty.body, empty.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/x-ndjson',
    ]);
    expect((await exportFrom(client, { format: 'csv' })).body).toBe(`${HEADER}\r\n`);
  });

  it('accepts the filters of list-contacts', async () => {
    await create(
      { email: 'ada@example.org', firstName: 'Ada', city: 'London', subscribed: false },
      { email: 'grace@example.org', country: 'US', zip: '1', city: 'London' },
    );
    const [ada, grace] = ['ada@example.org', 'grace@example.org'];
    const all = parse((await exportFrom(client)).body);
    const filters: [Record<string, string>, (string | undefined)[]][] = [
      [{ email: 'ADA@example.org' }, [ada]],
      [{ subscribed: 'true' }, [grace]],
      [{ city: 'London', country: 'US' }, [grace]],
      [{ zip: '2' }, []],
      [{ q: 'ad' }, [ada]],
      [{ createdAfter: all[0].createdAt, email: 'nobody@example.org' }, []],
      [{ createdBefore: '2020-01-01T00:00:00Z' }, []],
      [{ updatedAfter: '2020-01-01T00:00:00Z', subscribed: 'false' }, [ada]],
    ];
    for (const [query, expected] of filters) {
      expect([query, emailsOf((await exportFrom(client, query)).body)]).toEqual([query, expected]);
      const listed = await client.get('contact.list-contacts', query);
      expect([query, listed.body.data.map(({ email }: any) => email)]).toEqual([query, expected]);
    }
  });

  it('selects by list, petition and tag like list-contacts, and returns 404 for an unknown one', async () => {
    await create({ email: 'ada@example.org' }, { email: 'grace@example.org' });
    const [, grace] = parse((await exportFrom(client)).body);
    const { listId } = (await client.post('list.create-list', { name: 'A' })).body.data;
    await client.post('list.add-contacts', { listId, contactIds: [grace.id] });
    const { petitionId } = (await client.post('petition.create-petition', { name: 'A' })).body.data;
    await client.post('petition.publish-petition', { petitionId });
    await client.post('petition.add-signature', { petitionId, contactId: grace.id });
    const { tagId } = (await client.post('tag.create-tag', { name: 'A' })).body.data;
    await client.post('tag.add-contacts', { tagId, contactIds: [grace.id] });
    for (const [field, id] of Object.entries({ listId, petitionId, tagId })) {
      expect(emailsOf((await exportFrom(client, { [field]: id })).body)).toEqual([grace.email]);
      const listed = await client.get('contact.list-contacts', { [field]: id });
      expect(listed.body.data).toEqual([grace]);
      for (const operation of ['export-contacts', 'list-contacts']) {
        const { status, body } = await client.get(`contact.${operation}`, { [field]: NOBODY });
        expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
      }
    }
  });

  it('an export of several pages can be imported again without changes, in both formats', async () => {
    await create(...people(1_010));
    const before = await api.eventTypes(client.organizationId);
    for (const format of ['ndjson', 'csv'] as const) {
      const { body: text } = await exportFrom(client, { format });
      const { body } = await importInto(client, text, format);
      expect(body.data).toMatchObject({ created: 0, updated: 0, unchanged: 1_010, failedCount: 0 });
    }
    expect(await api.eventTypes(client.organizationId)).toEqual(before);
  });

  it('another organization that imports the export has the same contacts, in both formats', async () => {
    await create(...people(210));
    const detailsOf = async (caller: Client) =>
      parse((await exportFrom(caller)).body)
        .map(({ id, createdAt, updatedAt, version, organizationId, ...rest }: any) => JSON.stringify(rest))
        .sort();
    const expected = await detailsOf(client);
    expect(expected).toHaveLength(210);
    for (const format of ['ndjson', 'csv'] as const) {
      const { body: text } = await exportFrom(client, { format });
      const other = await api.organization();
      const moved = text.replaceAll(client.organizationId, other.organizationId);
      expect((await importInto(other, moved, format)).body.data).toMatchObject({
        created: 210,
        failedCount: 0,
      });
      expect(await detailsOf(other)).toEqual(expected);
    }
  });

  it.each([
    ['an unknown format', { format: 'xml' }, 'format'],
    ['a limit', { limit: '10' }, 'limit'],
    ['a sort', { sort: 'email' }, 'sort'],
    ['a cursor', { cursor: 'x' }, 'cursor'],
    ['an invalid filter', { subscribed: 'maybe' }, 'subscribed'],
  ])('returns 400 for %s', async (_, query, path) => {
    const { status, body } = await exportFrom(client, query);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });

  it('returns 401 without a key, and 403 without the scope or for another organization', async () => {
    const { organizationId } = client;
    const { key } = await api.createKey(organizationId, { scopes: ['contact:write'] });
    const answers = [
      await exportFrom(new Client(api.origin, '', undefined)),
      await exportFrom(new Client(api.origin, organizationId, key)),
      await exportFrom(client, { organizationId: NOBODY }),
    ];
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual([
      [401, 'UNAUTHORIZED'],
      [403, 'INSUFFICIENT_PERMISSIONS'],
      [403, 'FORBIDDEN'],
    ]);
  });

  it('never includes contacts of another organization', async () => {
    await create({ email: 'ada@example.org' });
    const stranger = await api.organization();
    expect((await exportFrom(stranger)).body).toBe('');
  });

  it('returns 503 before sending anything if the database is unreachable', async () => {
    const gate = await DatabaseGate.before(api.database.url);
    const instance = await api.addInstance({ DATABASE_URL: gate.url });
    const caller = client.at(instance.origin);
    expect((await exportFrom(caller, { format: 'csv' })).status).toBe(200);
    gate.shut();
    const { status, body } = await exportFrom(caller, { format: 'csv' });
    expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    gate.open();
    await instance.life.drain(0);
    gate.stop();
  });

  longIt(
    'ends quietly if the client disconnects, and cuts off the response if the database does',
    async () => {
      const deployment = await Deployment.create();
      const caller = await deployment.organization();
      const gate = await DatabaseGate.before(deployment.database.url);
      const server = await deployment.startServer({ DATABASE_URL: gate.url });
      const there = caller.at(server.origin);
      // More than the operating system buffers of an unread response.
      const large = Array.from({ length: 500 }, (_, n) => ({
        email: `p-${n}@example.org`,
        bio: '🎈'.repeat(5_000),
      }));
      const text = large.map((contact) => JSON.stringify(contact)).join('\n');
      expect((await importInto(there, text)).body.data.created).toBe(500);
      const open = async () => {
        const exporting = get(`${server.origin}/v1/contact.export-contacts`, {
          headers: { Authorization: `Bearer ${caller.key}` },
        });
        const [response] = await once(exporting, 'response');
        await once(response, 'readable');
        return response;
      };
      const logged = () => server.log.filter(({ path }) => path === '/v1/contact.export-contacts');
      const failures = () => server.log.filter(({ message }) => message === 'request failed');

      (await open()).destroy();
      await eventually(() => expect(logged()).toHaveLength(1));
      expect(logged()[0]!.message).toBe('client aborted the request');
      expect(failures()).toEqual([]);

      const response = await open();
      gate.shut();
      const whole = (async () => {
        for await (const chunk of response) expect(chunk.length).toBeGreaterThan(0);
      })();
      await expect(whole).rejects.toThrow('aborted');
      await eventually(() => expect(logged()).toHaveLength(2));
      expect(logged()[1]).toMatchObject({ message: 'request cut off', error: 'DATABASE_UNREACHABLE' });
      expect(failures()).toEqual([]);
      gate.stop();
      await deployment.stop();
    },
  );
});
