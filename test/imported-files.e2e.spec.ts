import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DASHBOARD } from '#locales';
import { decoderOf } from '../src/contacts/index.js';
import { command } from './commands.js';
import { Api, type Client } from './harness.js';
import { signedIn } from './people-in.js';
import { isLong } from './length.js';
import { eventually } from './processes.js';
import { pick, type Random, randomOf } from './random.js';

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

/** Files for the command line. */
const written = mkdtempSync(join(tmpdir(), 'imported-files-'));
afterAll(() => rmSync(written, { recursive: true }));

let api: Api;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
  api.startWorkers();
});
afterAll(() => api.stop());

type Import = (client: Client, file: string, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

/** Each imports a file with only one decision, that everyone else has agreed, and ignores unknown columns. */
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

  async 'the command line'(client, file, bytes) {
    const environment = {
      DATABASE_URL: api.database.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const options = ['--subscribed', 'yes', '--unknown', 'ignore', '--organization', client.organizationId];
    const path = join(written, file);
    writeFileSync(path, bytes);
    const { status, stdout } = await command(['contacts', 'import', path, ...options], environment);
    expect([status, JSON.parse(stdout).failed]).toEqual([0, []]);
  },
};

it('every file has an expectation', () => {
  const files = readdirSync(CASES).filter((name) => !name.endsWith('.json'));
  expect(files.toSorted()).toEqual(FILES.toSorted());
});

/** Everyone in the file is a contact with what is expected of them, and with nothing less. */
async function expectPeopleOf(file: string, client: Client): Promise<void> {
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
    for (const contact of body.data) tagged.set(contact.email, [...(tagged.get(contact.email) ?? []), name]);
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
    expect([email, given, recorded]).toEqual([email, consentAt !== undefined, new Date(at).toISOString()]);
  }
}

/**
 * The files that each way imports also when time is short: one with statuses, and one whose character set and delimiter are
 * guessed. All ways use the same importer, so `contact.import-contacts` imports each other file, without waiting.
 */
const EVERYWHERE = ['mailchimp-unsubscribed', 'excel-pl-1250'];

describe.each(Object.keys(WAYS))('by %s', (way) => {
  const isItsTurn = (file: string) =>
    isLong || way === 'contact.import-contacts' || EVERYWHERE.some((name) => file.startsWith(`${name}.`));
  it.each(FILES.filter(isItsTurn))(
    '%s: everyone arrives with every known field, and no one who said no is subscribed',
    async (file) => {
      const client = await api.organization();
      await WAYS[way]!(client, file, new Uint8Array(readFileSync(join(CASES, file))));
      await expectPeopleOf(file, client);
    },
  );
});

const DELIMITERS = [',', ';', '\t', '|'];

/** A table as one of many programs writes it: with its delimiter, quotes, line ends and character set. */
function writtenBy(random: Random, rows: readonly (readonly string[])[]) {
  const delimiter = pick(random, DELIMITERS);
  const record_delimiter = pick(random, ['\n', '\r\n', '\r']);
  const quoted = random(2) === 0;
  // Readers guess the delimiter, so programs quote each cell with any of the usual ones.
  const options = { delimiter, record_delimiter, quoted, quoted_match: /[\r\n|;,\t]/ };
  const csv = stringify(
    rows.map((row) => [...row]),
    options,
  );
  const encodings = [
    'utf8',
    'utf8 with BOM',
    'utf16le',
    ...(/^[\0-\x7F\xA0-\xFF]*$/.test(csv) ? ['latin1'] : []),
  ];
  const encoding = pick(random, encodings);
  const bytes = Buffer.from(
    encoding.startsWith('utf8 ') || encoding === 'utf16le' ? `\uFEFF${csv}` : csv,
    encoding.split(' ')[0] as BufferEncoding,
  );
  return {
    bytes: new Uint8Array(bytes),
    about: JSON.stringify({ delimiter, record_delimiter, quoted, encoding }),
  };
}

/** A file as another program would write the same rows, with the columns in another order. */
function rewritten(file: string, random: Random) {
  const [encoding] = /125\d/.exec(file) ?? (file.includes('latin1') ? ['1252'] : []);
  const text = decoderOf(encoding ? `windows-${encoding}` : 'utf-8').decode(readFileSync(join(CASES, file)));
  const unquoted = text.replaceAll(/"[^"]*"/g, '');
  const [delimiter] = DELIMITERS.toSorted((a, b) => unquoted.split(b).length - unquoted.split(a).length);
  // Also tables with titles above, and those in which a quotation mark is an ordinary character.
  const options = { delimiter: delimiter!, relax_quotes: true, relax_column_count: true };
  const rows: string[][] = parse(text, options);
  const { length } = rows.at(-1)!;
  const places = Array.from({ length }, (_, n) => n);
  // Of columns with the same name, the first counts.
  const order = file === 'duplicate-headers.csv' ? places : shuffled(places, random);
  return writtenBy(
    random,
    rows.map((row) => (row.length === length ? order.map((at) => row[at]!) : row)),
  );
}

function shuffled<One>(all: readonly One[], random: Random): One[] {
  const left = [...all];
  return all.map(() => left.splice(random(left.length), 1)[0]!);
}

/** Imports a file, and names what was special about it if something is wrong. */
async function expectAfter(
  way: string,
  file: string,
  { bytes, about }: ReturnType<typeof writtenBy>,
  expectIt: (client: Client) => Promise<void>,
): Promise<void> {
  const client = await api.organization();
  try {
    await WAYS[way]!(client, file, bytes);
    await expectIt(client);
  } catch (error) {
    throw new Error(`${way}: ${about}`, { cause: error });
  }
}

it.each(FILES.filter((_, n) => isLong || n % 10 === 0))(
  '%s, written differently: everyone arrives in the same way',
  async (file) => {
    const random = randomOf(FILES.indexOf(file));
    const ways = Object.keys(WAYS);
    for (let n = 0; n < (isLong ? 40 : 1); n += 1) {
      const way = isLong ? pick(random, ways) : 'contact.import-contacts';
      await expectAfter(way, file, rewritten(file, random), (client) => expectPeopleOf(file, client));
    }
  },
);

/** Names of columns, by field. */
const COLUMNS: { [field: string]: string[] } = {
  email: ['Email', 'E-Mail-Adresse', 'EMAIL_ADDRESS', 'Courriel', 'Correo electrónico', 'e-mail'],
  firstName: ['First Name', 'first_name', 'Vorname', 'Prénom', 'FIRSTNAME', 'Given name'],
  lastName: ['Last Name', 'Nachname', 'Apellidos', 'LASTNAME', 'Surname', 'Nom de famille'],
  phone: ['Phone', 'Telefon', 'Téléphone', 'Teléfono', 'Phone number'],
  zip: ['ZIP', 'Postleitzahl', 'PLZ', 'Code postal', 'Código postal', 'Post code'],
  city: ['City', 'Ort', 'Ville', 'Ciudad', 'TOWN', 'Stadt'],
  bio: ['Notes', 'Notizen', 'Remarques', 'Notas'],
};
/** Columns that state consent, with their values for yes and for no. */
const CONSENTS: [column: string, yes: string[], no: string[]][] = [
  ['Subscribed', ['yes', 'TRUE', '1', 'x'], ['no', 'FALSE', '0', 'never subscribed']],
  ['status', ['subscribed', 'active'], ['unsubscribed', 'cleaned', 'bounced', 'pending']],
  ['Abonniert', ['ja', 'Ja', 'abonniert'], ['nein', 'abgemeldet', 'unbestätigt']],
  ['Accepte la newsletter ?', ['oui', 'Oui'], ['non', 'NON']],
  ['¿Desea recibir correos?', ['sí', 'Si'], ['no', 'No']],
  ['Unsubscribed', ['', 'no', 'false', '0'], ['yes', 'true', '1', 'x']],
  ['unsubscribed_at', ['', '0000-00-00 00:00:00'], ['2024-01-02 03:04:05', '2024-01-02']],
  ['Do Not Email', ['', '0', 'No'], ['1', 'Yes']],
  ['EMAIL_BLACKLISTED', ['false', 'No'], ['true', 'Yes']],
  ['Newsletter abbestellt', ['', 'nein'], ['ja', '2024-01-02']],
  ['Désinscrit', ['', 'non', 'faux'], ['oui', 'vrai']],
  ['Dado de baja', ['', 'no'], ['sí', '2024-01-02']],
  ['Activated', ['2023-01-02 03:04:05'], ['0']],
];
const VALUES = [
  'Ada',
  'Müller, Jörg',
  'D"Arcy; O\'Neill',
  '"quoted"',
  'two\nlines',
  '01067',
  'a|b\tc',
  'Łódź',
  '=1+1',
  '',
  'Zoë & Co.',
  '北京',
];

/** A table like no file before, and everyone in it. */
function invented(random: Random) {
  const fields = Object.keys(COLUMNS).filter((field) => field === 'email' || random(3) > 0);
  const consents = shuffled(CONSENTS, random).slice(0, random(3));
  const people = Array.from({ length: 3 + random(6) }, (_, n) => {
    const values = Object.fromEntries(
      fields.map((field) => [field, field === 'email' ? `p${n}@example.org` : pick(random, VALUES)]),
    );
    const said = consents.map(() => random(3) > 0);
    const cells = consents.map(([, yes, no], at) => pick(random, said[at] ? yes : no));
    return { values, cells, subscribed: said.every((one) => one) };
  });
  const columns = [
    ...fields.map(
      (field) => [pick(random, COLUMNS[field]!), (n: number) => people[n]!.values[field]!] as const,
    ),
    ...consents.map(([name], at) => [name, (n: number) => people[n]!.cells[at]!] as const),
    ['Favourite colour', () => pick(random, ['blue', 'green, red'])] as const,
  ];
  const order = shuffled(columns, random);
  const rows = [order.map(([name]) => name), ...people.map((_, n) => order.map(([, cell]) => cell(n)))];
  return { people, rows };
}

it.each(Object.keys(WAYS).filter((way) => isLong || way === 'contact.import-contacts'))(
  '%s: from tables of any kind, no row and no value is lost, and no one is subscribed who said no',
  async (way) => {
    const random = randomOf(Object.keys(WAYS).indexOf(way) + 1);
    for (let n = 0; n < (isLong ? 60 : 3); n += 1) {
      const { people, rows } = invented(random);
      const file = writtenBy(random, rows);
      await expectAfter(
        way,
        `table-${n}.csv`,
        { ...file, about: file.about + JSON.stringify(rows) },
        async (client) => {
          const { data } = (await client.get('contact.list-contacts', { limit: '100', sort: 'email' })).body;
          const wanted = people.map(({ values, subscribed }) => ({
            ...Object.fromEntries(
              Object.entries(values).map(([field, value]) => [field, value.trim() || null]),
            ),
            subscribed,
          }));
          expect(data).toEqual(wanted.map((fields) => expect.objectContaining(fields)));
        },
      );
    }
  },
);
