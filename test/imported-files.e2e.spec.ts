import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DASHBOARD } from '#locales';
import { command } from './commands.js';
import { Api, type Client } from './harness.js';
import { signedIn } from './people-in.js';
import { isLong } from './length.js';
import { eventually } from './processes.js';

const CASES = join(import.meta.dirname, 'imported-files');
/** Other fields of a contact are free. */
const FIELDS = [
  'email',
  'firstName',
  'lastName',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'region',
  'country',
  'bio',
  'subscribed',
] as const;
type Expected = { [field in (typeof FIELDS)[number]]?: string | boolean } & {
  email: string;
  suppressed?: string;
  tags?: string[];
  externalIds?: string[];
  consentAt?: string;
  refusedAt?: string;
};
const expected = JSON.parse(readFileSync(join(CASES, 'expected.json'), 'utf8')) as Record<string, Expected[]>;
const FILES = Object.keys(expected).filter((name) => name !== 'about');

let api: Api;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  api.startWorkers();
});
afterAll(() => api.stop());

type Import = (client: Client, file: string, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

/** Each imports a file with no decision but that the others have agreed, and ignores unknown columns. */
const WAYS: { [way: string]: Import } = {
  async 'the dashboard'(client, file, bytes) {
    const editor = await signedIn(api, client, 'EDITOR', `editor-${client.organizationId}@example.org`);
    const path = `/dashboard/${client.organizationId}/contacts/import`;
    const upload = { field: 'file', name: file, type: 'text/csv', content: bytes };
    const { location } = await editor.upload(path, upload, { onConflict: 'fail' });
    const { text } = await editor.get(location!);
    const selects = text.matchAll(/<select id="(column-\d+)"[^]*?<\/select>/g);
    const chosen = Object.fromEntries(
      [...selects].map(([select, name]) => [name!, /value="([^"]*)" selected/.exec(select)?.[1] ?? '']),
    );
    expect((await editor.post(location!, { ...chosen, agreed: 'true' })).status).toBe(303);
    await eventually(async () =>
      expect((await editor.get(location!)).text).toContain(DASHBOARD.en.contacts.imports.done),
    );
  },

  async 'contact.import-contacts'(client, _file, bytes) {
    const path = '/v1/contact.import-contacts?subscribed=true&unknown=ignore';
    const { status, body } = await client.request('POST', path, bytes, { 'Content-Type': 'text/csv' });
    expect([status, body.data.failed]).toEqual([200, []]);
  },

  async 'import.create-import'(client, _file, bytes) {
    const path = '/v1/import.create-import?subscribed=true&unknown=ignore';
    const { status, body } = await client.request('POST', path, bytes, { 'Content-Type': 'text/csv' });
    expect([status, body.error]).toEqual([200, undefined]);
    const { importId } = body.data;
    await eventually(async () => {
      const { data } = (await client.get('import.get-import', { importId })).body;
      expect([data.status, data.problems]).toEqual(['DONE', []]);
    });
  },

  async 'the command line'(client, file) {
    const environment = {
      DATABASE_URL: api.database.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const options = ['--subscribed', 'yes', '--unknown', 'ignore', '--organization', client.organizationId];
    const { status, stdout } = await command(
      ['contacts', 'import', join(CASES, file), ...options],
      environment,
    );
    expect([status, JSON.parse(stdout).failed]).toEqual([0, []]);
  },
};

it('every file has an expectation', () => {
  const files = readdirSync(CASES).filter((name) => !name.endsWith('.json'));
  expect(files.toSorted()).toEqual(FILES.toSorted());
});

describe.each(Object.keys(WAYS))('by %s', (way) => {
  // All ways use the same importer, so each file takes two of them, unless there is time for all.
  const place = Object.keys(WAYS).indexOf(way);
  it.each(FILES.filter((_, n) => isLong || (n + place) % 2 === 0))(
    '%s: everyone arrives with every known field, and no one who said no is subscribed',
    async (file) => {
      const client = await api.organization();
      await WAYS[way]!(client, file, new Uint8Array(readFileSync(join(CASES, file))));
      const people = expected[file]!;
      const { data } = (await client.get('contact.list-contacts', { limit: '100', sort: 'email' })).body;
      const contacts = data as (Expected & { id: string })[];
      const wanted = people.map((person) => ({
        subscribed: true,
        ...Object.fromEntries(FIELDS.flatMap((field) => (field in person ? [[field, person[field]]] : []))),
      }));
      expect(contacts).toEqual(wanted.map((fields) => expect.objectContaining(fields)));
      for (const { email, externalIds } of people) {
        if (externalIds === undefined) continue;
        const found = contacts.find((contact) => contact.email === email)!;
        expect([email, found.externalIds?.toSorted()]).toEqual([email, externalIds.toSorted()]);
      }

      const { data: tags } = (await client.get('tag.list-tags', { limit: '100' })).body;
      const tagged = new Map<string, string[]>();
      for (const { id, name } of tags as { id: string; name: string }[]) {
        const { body } = await client.get('contact.list-contacts', { tagId: id, limit: '100' });
        for (const contact of body.data)
          tagged.set(contact.email, [...(tagged.get(contact.email) ?? []), name]);
      }
      const named = people.map(({ email, tags: names = [] }) => [email, names.toSorted()]);
      expect(people.map(({ email }) => [email, (tagged.get(email) ?? []).toSorted()])).toEqual(named);

      const { data: suppressions } = (await client.get('suppression.list-suppressions')).body;
      const blocked = people.flatMap(({ email, suppressed }) => (suppressed ? [[email, suppressed]] : []));
      expect(suppressions.map(({ email, reason }: any) => [email, reason]).toSorted()).toEqual(blocked);

      for (const { email, consentAt, refusedAt } of people) {
        const at = consentAt ?? refusedAt;
        if (at === undefined) continue;
        const { id: contactId } = contacts.find((contact) => contact.email === email)!;
        const { body } = await client.get('contact.list-consents', { contactId });
        const [{ given, at: recorded }] = body.data;
        expect([email, given, recorded]).toEqual([
          email,
          consentAt !== undefined,
          new Date(at).toISOString(),
        ]);
      }
    },
  );
});
