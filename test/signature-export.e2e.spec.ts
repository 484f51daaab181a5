import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parse } from 'csv-parse/sync';
import { Api, Client, NOBODY } from './harness.js';
import { isLong, longIt } from './length.js';
import { appendSignatures, signWithComment } from './signers.js';

let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start();
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
const sign = async (petitionId: string, contact: object, comment?: string) =>
  (await client.post('petition.add-signature', { petitionId, contact, comment })).body.data;
const exported = (petitionId: string, query = {}) =>
  client.get('petition.export-signatures', { petitionId, ...query });
const lines = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const HOSTILE = '=HYPERLINK("https://evil.example","Ω")\r\nnext, line';

it('NDJSON: returns the signatures like list-signatures, and with contacts=true the signers', async () => {
  const petitionId = await petition();
  const ada = { email: 'ada@example.org', firstName: 'Ada', lastName: 'Lovelace', city: 'London' };
  await sign(petitionId, ada, HOSTILE);
  const gone = await sign(petitionId, { email: 'gone@example.org' }, 'Why');
  await sign(petitionId, { email: 'out@spam.example' });
  await client.post('petition.invalidate-signatures', { petitionId, emailDomain: 'spam.example' });
  await client.delete('contact.delete-contact', { contactId: gone.contactId });

  const { status, body, headers } = await exported(petitionId);
  expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  expect(headers.get('content-disposition')).toContain('signatures.ndjson');
  const listed = (await client.get('petition.list-signatures', { petitionId, sort: 'createdAt' })).body.data;
  expect(lines(body)).toEqual(listed);
  expect(listed).toHaveLength(2);

  const nobody = {
    ...{ email: null, firstName: null, lastName: null, zip: null, city: null, country: null },
    customFields: {},
  };
  expect(lines((await exported(petitionId, { contacts: true })).body)).toEqual([
    { ...listed[0], ...nobody, ...ada },
    { ...listed[1], contactId: null, comment: null, ...nobody },
  ]);
  const [out, ...none] = lines((await exported(petitionId, { status: 'INVALIDATED', contacts: true })).body);
  expect([out, none]).toMatchObject([{ email: 'out@spam.example', status: 'INVALIDATED' }, []]);
});

it('CSV: returns cells unchanged, or with `safe` without formulas', async () => {
  const petitionId = await petition();
  await sign(petitionId, { email: 'ada@example.org', firstName: '@SUM(A1)', lastName: '-1' }, HOSTILE);
  for (const safe of [false, true]) {
    const { body, headers } = await exported(petitionId, { format: 'csv', contacts: true, safe });
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [row, ...others] = parse(body as string, { columns: true, record_delimiter: '\r\n' });
    const apostrophe = safe ? "'" : '';
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      petitionId,
      comment: `${apostrophe}${HOSTILE}`,
      status: 'CONFIRMED',
      invalidationId: '',
      email: 'ada@example.org',
      firstName: `${apostrophe}@SUM(A1)`,
      lastName: `${apostrophe}-1`,
    });
  }
  const empty = await exported(await petition(), { format: 'csv' });
  expect(empty.body).toBe(
    'id,createdAt,signedAt,petitionId,contactId,comment,commentState,status,invalidationId,source,suspicion,language\r\n',
  );
});

it('is complete and in order for any number of signatures', async () => {
  const petitionId = await petition();
  const { store } = api.instances[0]!.runtime;
  const count = isLong ? 2_345 : 1_100;
  const ids = await appendSignatures(store, client.organizationId, petitionId, count);
  await sign(petitionId, { email: 'last@example.org' });
  const all = lines((await exported(petitionId, { contacts: true })).body);
  expect(all).toHaveLength(count + 1);
  expect(new Set(all.map(({ id }) => id)).size).toBe(count + 1);
  expect(
    all
      .slice(0, -1)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(ids.toSorted());
  const { createdAt } = all[1_000]!;
  const before = lines((await exported(petitionId, { createdBefore: createdAt })).body);
  expect(before).toEqual(
    all.filter((one) => one.createdAt < createdAt).map(({ id }) => expect.objectContaining({ id })),
  );
});

it.each([
  [{ petitionId: NOBODY }, 404],
  [{ status: 'WITHDRAWN' }, 400],
  [{ contacts: 'all' }, 400],
  [{ format: 'xlsx' }, 400],
])('returns for %j: %i', async (query, status) => {
  expect((await exported(await petition(), query)).status).toBe(status);
});

it('returns 404 for another organization, and 403 for signers without contact:read', async () => {
  const petitionId = await petition();
  await sign(petitionId, { email: 'ada@example.org' });
  const stranger = await api.organization();
  expect((await stranger.get('petition.export-signatures', { petitionId })).status).toBe(404);
  const { organizationId, origin } = client;
  const { key } = await api.createKey(organizationId, { scopes: ['petition:read'] });
  const reader = new Client(origin, organizationId, key);
  expect((await reader.get('petition.export-signatures', { petitionId })).status).toBe(200);
  const { status, body } = await reader.get('petition.export-signatures', { petitionId, contacts: 'true' });
  expect([status, body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
});

it('get-delivery: prints the petition, the numbers, and with contacts=true the signers, and records the download', async () => {
  const petitionId = await petition();
  await client.post('petition.update-petition', {
    ...{ petitionId, ask: 'Stop <b>it</b>', target: 'The council', comments: 'SHOWN' },
  });
  const ada = {
    email: 'ada@example.org',
    firstName: '<i>Ada',
    lastName: 'Lovelace',
    zip: 'N1',
    country: 'GB',
  };
  await sign(petitionId, ada, 'Private');
  const shown = { email: 'bob@example.org', comment: 'I swim there' };
  await signWithComment(api, client, petitionId, shown);
  const hidden = await signWithComment(api, client, petitionId, {
    ...shown,
    email: 'c@example.org',
    comment: 'Spam',
  });
  await client.post('petition.hide-comment', { signatureId: hidden });
  const gone = await sign(petitionId, { email: 'gone@example.org', firstName: 'Gone' });
  await client.delete('contact.delete-contact', { contactId: gone.contactId });
  const paper = { petitionId, count: 1_000, collectedOn: '2026-11-20' };
  await client.post('petition.record-offline-signatures', paper);

  const { status, body, headers } = await client.get('petition.get-delivery', {
    petitionId,
    contacts: 'true',
  });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers.get('content-disposition')).toContain('attachment; filename="delivery.html"');
  for (const text of ['Stop &lt;b&gt;it', 'The council', '1,004 signatures', '4 online and 1,000 on paper'])
    expect(body).toContain(text);
  expect(body).toContain('<td>&lt;i&gt;Ada Lovelace</td><td>N1, United Kingdom</td>');
  expect(body.match(/<tr><td>/g)).toHaveLength(4);
  expect(body).toContain('<td>Name deleted</td>');
  expect(body).toContain('I swim there');
  expect(body).not.toMatch(/Private|Spam|Gone|example\.org/);
  expect(body).toMatch(/<\/html>\s*$/);

  const nameless = (await client.get('petition.get-delivery', { petitionId })).body as string;
  expect(nameless).toContain('1,004 signatures');
  expect(nameless).not.toContain('Lovelace');
  const events = (await client.get('history.list-events', { type: 'PetitionDelivered' })).body.data;
  const numbers = { petitionId, signatures: 4, offlineSignatures: 1_000 };
  expect(events.map(({ data }: { data: object }) => data)).toEqual([
    { ...numbers, contacts: true },
    { ...numbers, contacts: false },
  ]);
});

longIt(
  'get-delivery: 100,000 signers are numbered in order, and only a page of them is in memory',
  async () => {
    const petitionId = await petition();
    const count = 100_000;
    await appendSignatures(api.instances[0]!.runtime.store, client.organizationId, petitionId, count - 1);
    // Counts the others, too.
    await sign(petitionId, { email: 'last@example.org', firstName: 'Last' });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heap = () => {
      collect();
      return process.memoryUsage().heapUsed / 1024 / 1024;
    };
    const query = new URLSearchParams({ petitionId, contacts: 'true' }).toString();
    const response = await fetch(`${client.origin}/v1/petition.get-delivery?${query}`, {
      headers: { Authorization: `Bearer ${client.key}` },
    });
    expect(response.status).toBe(200);
    const used: number[] = [];
    let [rest, rows, chunks] = ['', 0, 0];
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      const end = rest.lastIndexOf('</tr>') + 1;
      for (const [, number = ''] of rest.slice(0, end).matchAll(/<tr><td>([\d,]+)</g))
        expect(number).toBe((rows += 1).toLocaleString('en'));
      rest = rest.slice(end);
      if ((chunks += 1) % 25 === 1) used.push(heap());
    }
    expect(rows).toBe(count);
    expect(rest).toMatch(/<\/html>\s*$/);
    // 100,000 rows of the database are more than 50 MiB.
    expect(Math.max(...used) - used[0]!).toBeLessThan(20);
  },
);
