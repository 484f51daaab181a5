import { stringify } from 'csv-stringify/sync';
import { Api, type Client } from './harness.js';
import { isLong } from './length.js';
import { pick, type Random, randomOf } from './random.js';

/**
 * Generated tables: with any delimiter, character set, line end, quotes and order of columns, and with consent in
 * any form. No row is lost, and no one is subscribed without consent.
 */
let api: Api;
let client: Client;
beforeAll(async () => {
  api = await Api.start();
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
});

/** Texts of one character set, with the characters that tables treat specially. */
const TEXTS = {
  'utf-8': [
    'Ada',
    'Łódź',
    'Ærø; Øst',
    'say "hi"',
    'two\nlines',
    '日本, 東京',
    'a|b',
    "O'Neil",
    '=1+1',
    'tab\there',
  ],
  'utf-16le': ['Ada', 'Łódź', 'Ærø; Øst', 'say "hi"', 'two\nlines', '日本, 東京', 'a|b'],
  'windows-1252': [
    'Zoé Müller',
    'Jürgen, Groß',
    'François; Noël',
    'O’Brien',
    'say "hi"',
    'Muñoz|Peña',
    'two\nlines',
  ],
  'windows-1250': ['Łukasz Żółć', 'Jiří, Dvořák', 'Božena; Němcová', 'Győző Szűcs', 'say "hi"', 'two\nlines'],
};
type Encoding = keyof typeof TEXTS;

function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (encoding === 'utf-16le') return Buffer.from(`\uFEFF${text}`, 'utf16le');
  // Node.js has no encoder for these.
  const decoder = new TextDecoder(encoding);
  const bytes = new Map(Array.from({ length: 256 }, (_, byte) => [decoder.decode(Buffer.of(byte)), byte]));
  if (encoding === 'windows-1252') bytes.set('’', 0x92);
  return Buffer.from(
    [...text].map((character) => {
      const byte = bytes.get(character);
      if (byte === undefined) throw new Error(`${encoding} has no ${character}.`);
      return byte;
    }),
  );
}

/** A column that states consent: its header, and its cells for yes, no and no statement. */
const CONSENTS: { name: string; yes: string[]; no: string[]; none: string[] }[] = [
  {
    name: 'subscribed',
    yes: ['yes', 'TRUE', '1', 'x', 'Ja'],
    no: ['no', 'false', '0', 'Nein'],
    none: ['', 'n/a'],
  },
  {
    name: 'Status',
    yes: ['subscribed', 'Active'],
    no: ['Unsubscribed', 'pending', 'never subscribed'],
    none: [''],
  },
  { name: 'No Bulk Emails', yes: ['', '0', 'no'], no: ['1', 'Yes', 'x'], none: [''] },
  { name: 'unsubscribed_at', yes: [''], no: ['2024-05-01 10:00:00', '01.05.2024'], none: [''] },
  { name: 'EMAIL_BLACKLISTED', yes: ['No'], no: ['Yes', 'true'], none: [''] },
];
/** Whether a column of opt-outs leaves the others to the default. */
const isOptOut = (name: string) => !['subscribed', 'Status'].includes(name);

type Generated = {
  bytes: Buffer;
  about: string;
  people: { email: string; firstName: string; subscribed: boolean }[];
};

function generate(random: Random, table: number, byDefault: boolean): Generated {
  const encoding = pick(random, Object.keys(TEXTS) as Encoding[]);
  const delimiter = pick(random, [',', ';', '\t', '|']);
  const end = pick(random, ['\n', '\r\n', '\r']);
  const consent = pick(random, CONSENTS);
  const columns = ['E-Mail', 'First name', 'Notes', 'City', consent.name];
  const order = columns.map((_, n) => n).toSorted(() => random(3) - 1);
  const titles = random(3) === 0 ? ['Report', ''] : [];
  // Each character set is recognized by its own letters.
  const texts = TEXTS[encoding];
  const people: Generated['people'] = [];
  const rows = Array.from({ length: 1 + random(30) }, (_, n) => {
    // An empty column `Status` may be about anything.
    const said = n === 0 ? 'yes' : pick(random, ['yes', 'no', 'none'] as const);
    const email = `t${table}-${n}@example.org`;
    const firstName = n === 0 ? texts[0]! : pick(random, texts);
    const states = said === 'none' || (said === 'yes' && isOptOut(consent.name)) ? byDefault : said === 'yes';
    people.push({ email, firstName, subscribed: states });
    return [
      email,
      firstName,
      pick(random, texts),
      n === 0 ? texts[1]! : pick(random, texts),
      pick(random, consent[said]),
    ];
  });
  const arranged = [columns, ...rows].map((row) => order.map((at) => row[at]!));
  const quoted = random(2) === 0;
  const csv = stringify(arranged, { delimiter, record_delimiter: end, quoted, quoted_match: /[\r\n|;,\t]/ });
  const text = titles.map((title) => title + end).join('') + csv;
  const about = `table ${table}: ${JSON.stringify({ encoding, delimiter, end, order, consent: consent.name, titles, quoted })}`;
  return { bytes: encode(text, encoding), about, people };
}

const TABLES = isLong ? 400 : 30;

it.each([true, false])(
  'whatever a table looks like, all people arrive, and refusals count: default %s',
  async (byDefault) => {
    const random = randomOf(byDefault ? 20_261 : 20_262);
    for (let table = 0; table < TABLES; table += 1) {
      const { bytes, about, people } = generate(random, table, byDefault);
      const path = `/v1/contact.import-contacts?subscribed=${byDefault}`;
      const body = new Uint8Array(bytes);
      const answer = await client.request('POST', path, body, { 'Content-Type': 'text/csv' });
      expect([about, answer.status, answer.body.error ?? answer.body.data]).toEqual([
        about,
        200,
        { created: people.length, updated: 0, unchanged: 0, failed: [], failedCount: 0 },
      ]);
      const { body: exported } = await client.get('contact.export-contacts', { q: `t${table}-` });
      const found = new Map(
        (exported as string)
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line))
          .map(({ email, firstName, subscribed }) => [email, { email, firstName, subscribed }]),
      );
      expect([about, people.map(({ email }) => found.get(email))]).toEqual([about, people]);
    }
  },
);
