import { v7 as uuidv7 } from 'uuid';
import { type ReadSource, type Sql } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { Projections } from '#libs/projections';
import { findRows } from '#libs/projections';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { isLong } from '../../test/length.js';
import { contactConditions, type ContactFilters } from './filters/contact-filters.js';
import { Places } from './filters/places.js';
import { CONTACT_BYTES } from './contact-columns.js';
import { COUNT_OPTIONS } from './option-counts.js';
import { CONTACTS_TABLE, contactsProjection } from './contacts.projection.js';
import { DUPLICATE_REASONS } from './duplicates/duplicate-keys.js';
import { DUPLICATES } from './duplicates/list-duplicates.js';

/** `npm run test:long` asserts the same plans at a million. */
const CONTACTS = isLong ? 1_000_000 : 8_000;
const organizationId = uuidv7();
/** A custom field in which most contacts have the value S. */
const fieldId = uuidv7();
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  const { source, store } = database;
  await new Projections(source, store, [contactsProjection], new JsonLogger('silent')).start();
  await source.query(
    `INSERT INTO ${CONTACTS_TABLE} (organization_id, id, version, created_at, updated_at, subscribed, email,
       email_compared, first_name, last_name, country, city, zip, phone_key, mobile_key, mailbox,
       custom_fields)
     SELECT $1, gen_random_uuid(), 1, now() - n * interval '1 s', now(), true, 'p' || n || '@example.org',
       'p' || n || '@example.org', 'Ada', 'Lovelace' || n / 2, 'GB', 'London', 'N1',
       CASE WHEN n % 4 = 0 THEN 112 ELSE abs(hashtext('a' || n)) % 16777216 END,
       abs(hashtext('b' || n)) % 16777216, CASE WHEN n % 10 = 7 THEN 'p1' || n || '@example.org' END,
       jsonb_build_object($3::text, CASE n WHEN 7 THEN '["M", "L"]'::jsonb WHEN 8 THEN '"M"' ELSE '"S"' END)
     FROM generate_series(1, $2) n`,
    [organizationId, CONTACTS, fieldId],
  );
  await source.query(`VACUUM ANALYZE ${CONTACTS_TABLE}`);
}, 900_000);
afterAll(() => database.drop(), 60_000);

type Plan = Record<string, number> & { Plans?: Plan[] };
/** Rows of the widest step. */
function widest(plan: Plan): number {
  const rows = plan['Actual Rows']! + (plan['Rows Removed by Filter'] ?? 0);
  return Math.max(rows * plan['Actual Loops']!, ...(plan.Plans ?? []).map(widest));
}

it.each<Partial<ContactFilters>>([
  { country: 'XX' },
  { externalId: 'civicrm:0' },
  { country: 'Germany' },
  { region: 'Nowhere' },
  { city: 'Nowhere' },
  { zip: '0' },
  { email: 'nobody@example.org' },
  { subscribed: false },
  { q: 'zz' },
  { country: 'GB', city: 'Nowhere' },
])('a list by %j, which matches no one, reads a page’s part of the contacts', async (filters) => {
  let looked = 0;
  const watching: Sql = {
    async query(text: string, values?: unknown[]) {
      if (text.includes(CONTACTS_TABLE)) {
        const [row] = await database.source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
        looked = widest(row['QUERY PLAN'][0].Plan);
      }
      return database.source.query(text, values);
    },
  };
  const given = { organizationId, ...filters } as ContactFilters;
  const page = await findRows(
    watching,
    { ...given, limit: 25, sort: '-createdAt' },
    { table: CONTACTS_TABLE, bytes: CONTACT_BYTES },
    {
      conditions: await contactConditions(given, {
        linked: () => Promise.reject(new Error('none is asked for')),
        findAt: () => Promise.reject(new Error('none is asked for')),
      }),
    },
  );
  expect(page.rows).toEqual([]);
  expect(looked).toBeLessThan(2_700);
});

it('the places of contacts are found in the index, without reading all contacts', async () => {
  let looked = 0;
  const reads = {
    async query(text: string, values: unknown[]) {
      const [row] = await database.source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      looked = widest(row['QUERY PLAN'][0].Plan);
      return database.source.query(text, values);
    },
  };
  const places = new Places(reads as unknown as ReadSource);
  expect(await places.countries(organizationId)).toEqual(['GB']);
  expect(await places.cities(organizationId)).toEqual(['London']);
  expect(looked).toBeLessThan(10);
});

it('the contacts with an option are counted by an index, even if most contacts have a value in the field', async () => {
  const { source } = database;
  const values = ['M', ['M']].map((value) => JSON.stringify({ [fieldId]: value }));
  const asked = [organizationId, values];
  expect(await source.query(COUNT_OPTIONS, asked)).toEqual([{ count: 2 }]);
  const [row] = await source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${COUNT_OPTIONS}`, asked);
  expect(widest(row['QUERY PLAN'][0].Plan)).toBeLessThan(100);
});

it.each(DUPLICATE_REASONS)(
  'duplicates by %s are found in an index, without reading all contacts',
  async (reason) => {
    const { source } = database;
    const places = {
      NAME_AND_ZIP: ['-9223372036854775808', '0'],
      PHONE: ['0', '112', '8000000'],
      EMAIL: ['', 'p15'],
    };
    // A quarter of the contacts share a phone number.
    for (const key of places[reason]) {
      const asked = [organizationId, key, organizationId, 500, 25];
      const [row] = await source.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${DUPLICATES[reason]}`, asked);
      expect(JSON.stringify(row)).not.toContain('Seq Scan');
      expect([key, widest(row['QUERY PLAN'][0].Plan)]).toEqual([key, expect.any(Number)]);
      expect(widest(row['QUERY PLAN'][0].Plan)).toBeLessThan(1_010);
    }
  },
);
