import { JsonLogger } from '#libs/operations';
import { Projections } from '#libs/projections';
import { newId } from '#libs/random';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { comparableEmail } from '#libs/rpc';
import { isLong } from '../../test/length.js';
import { pick, type Random, randomOf } from '../../test/random.js';
import {
  contactsProjection,
  type Filter,
  type FieldCondition,
  type FilteredContact,
  filterSql,
  matchesFilter,
  namedInFilters,
  readFilter,
} from '../contacts/index.js';
import { type CustomValue, fields } from '../fields/index.js';
// They declare conditions.
import '../broadcasts/index.js';
import '../lists/index.js';
import '../petitions/index.js';
import '../tags/index.js';

const NOW = new Date('2026-06-15T12:00:00.000Z');
const DAY_MS = 24 * 60 * 60 * 1_000;
const CONTACTS = 300;
const TABLE = `contacts_v${contactsProjection.version}.contacts`;
const organizationId = newId();
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const random = randomOf(SEED);
let database: TestDatabase;

/** Pieces of texts with letters that databases and JavaScript fold differently. */
const PIECES = [
  'a',
  'A',
  'b',
  'ü',
  'Ü',
  'ß',
  'İ',
  'ı',
  'I',
  'i',
  'Σ',
  'ς',
  'σ',
  'K',
  'Å',
  'å',
  '%',
  '_',
  '\\',
  ' ',
  '𐐀',
  '𐐨',
  'ж',
  'Ж',
];
const textOf = (any: Random, longest: number) =>
  Array.from({ length: 1 + any(longest) }, () => pick(any, PIECES))
    .join('')
    .trim() || 'x';

type Person = FilteredContact & { id: string };

/** Ids of custom fields by their keys. The last one was deleted, so its key has no field. */
const customFields = new Map(
  ['text', 'number', 'date', 'flag', 'options', 'gone'].map((key) => [key, newId()]),
);

/** Records by the name of their condition: two that exist, one that was deleted, and one that never existed. */
const records = new Map<string, string[]>();
const people: Person[] = [];

function aPerson(): Person {
  const some = (longest: number) => (random(3) === 0 ? null : textOf(random, longest));
  const at = () => new Date(NOW.getTime() - random(60) * DAY_MS - (random(2) ? 0 : random(DAY_MS)));
  const links = new Map<string, Date>();
  for (const [name, [first, second, deleted]] of records) {
    for (const id of [first!, second!]) if (random(3) === 0) links.set(`${name} ${id}`, at());
    // Links to deleted records stay in the database. They match no one.
    if (random(2) === 0) links.set(`deleted ${name} ${deleted!}`, at());
  }
  return {
    id: newId(),
    subscribed: random(2) === 0,
    createdAt: at(),
    updatedAt: at(),
    details: {
      email: `${textOf(random, 2).replaceAll(' ', '')}@example.org`,
      firstName: some(3),
      lastName: some(3),
      zip: some(2),
      city: some(3),
      country: pick(random, [
        null,
        'DE',
        'germany',
        'Allemagne',
        'GERMANY',
        'Österreich',
        'ÖSTERREICH',
        'at',
        textOf(random, 2),
      ]),
      region: some(2),
      phone: some(2),
      mobile: null,
      address: null,
      bio: null,
    },
    customFields: someValues(),
    linkedSince: (name, id) => links.get(`${name} ${id}`),
    ...{ links },
  };
}

/** Values of several types in one field, as if it had replaced another one with the same key. */
function someValues(): FilteredContact['customFields'] {
  const value = () =>
    pick<() => CustomValue>(random, [
      () => textOf(random, 2),
      () => pick(random, [-1.5, 0, 2, 10, 1e21]),
      () => dayBefore(random(60)),
      () => random(2) === 0,
      () => [textOf(random, 1), textOf(random, 1)],
    ])();
  const existing = [...customFields.keys()].slice(0, -1);
  return Object.fromEntries(existing.flatMap((key) => (random(2) ? [[key, value()]] : [])));
}

const dayBefore = (days: number) => new Date(NOW.getTime() - days * DAY_MS).toISOString().slice(0, 10);

beforeAll(async () => {
  database = await createTestDatabase();
  const { source, store } = database;
  const kinds = [...namedInFilters()].map(([name, { resource }]) => [name, resource] as const);
  const projections = [
    contactsProjection,
    fields.projection,
    ...kinds.map(([, { projection }]) => projection),
  ];
  await new Projections(source, store, projections, new JsonLogger('silent')).start();
  for (const [name, { table }] of kinds) {
    const ids = [newId(), newId(), newId(), newId()];
    records.set(name, ids);
    for (const id of ids.slice(0, 2)) {
      await source.query(
        `INSERT INTO ${table} (organization_id, id, created_at, updated_at, version, state, bytes, name)
         VALUES ($1, $2, now(), now(), 1, '{}', 2, 'A')`,
        [organizationId, id],
      );
    }
  }
  for (const [key, id] of [...customFields].slice(0, -1)) {
    await source.query(
      `INSERT INTO ${fields.table} (organization_id, id, created_at, updated_at, version, state, bytes, key)
       VALUES ($1, $2, now(), now(), 1, '{}', 2, $3)`,
      [organizationId, id, key],
    );
  }
  const sendings = new Map(records.get('received')!.map((id) => [id, newId()]));
  for (const [id, sending] of sendings)
    await source.query(
      'INSERT INTO broadcast_sendings (id, organization_id, broadcast_id) VALUES ($1, $2, $3)',
      [sending, organizationId, id],
    );
  for (let n = 0; n < CONTACTS; n += 1) {
    const person = aPerson();
    people.push(person);
    const { id, details, subscribed, createdAt, updatedAt } = person;
    await source.query(
      `INSERT INTO ${TABLE} (organization_id, id, version, created_at, updated_at, subscribed, email,
         email_compared, first_name, last_name, zip, city, country, region, sealed_phone, custom_fields)
       VALUES ($1, $2, 1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
      [
        organizationId,
        id,
        createdAt,
        updatedAt,
        subscribed,
        details.email,
        comparableEmail(details.email!),
        details.firstName,
        details.lastName,
        details.zip,
        details.city,
        details.country,
        details.region,
        details.phone && Buffer.from(details.phone),
        JSON.stringify(
          Object.fromEntries(
            Object.entries({ ...person.customFields, gone: 'A' }).map(([key, value]) => [
              customFields.get(key)!,
              value,
            ]),
          ),
        ),
      ],
    );
    for (const [key, since] of (person as unknown as { links: Map<string, Date> }).links) {
      const [recordId, name] = key.split(' ').toReversed() as [string, string];
      const { linkTable } = new Map(kinds).get(name)!;
      if (!linkTable) {
        await source.query(
          `INSERT INTO broadcast_recipients (sending_id, contact_id, status, at) VALUES ($1, $2, 'SENT', $3)`,
          [sendings.get(recordId), id, since],
        );
        continue;
      }
      const link = `INSERT INTO ${linkTable} (organization_id, id, record_id, subject_id, created_at, created_position, ended_at)
        VALUES ($1, $2, $3, $4, $5, 1, $6)`;
      if (name === 'signed' && random(2) === 0) {
        // Imported later than it was signed.
        await source.query(link.replaceAll('created_at', 'created_at, signed_at').replace('$5', '$7, $5'), [
          ...[organizationId, newId(), recordId, id, since, null, NOW],
        ]);
      } else await source.query(link, [organizationId, newId(), recordId, id, since, null]);
      // Links that ended, and links of erased contacts, match no one.
      await source.query(link, [organizationId, newId(), recordId, pick(random, people).id, NOW, NOW]);
      await source.query(link, [organizationId, newId(), recordId, null, NOW, null]);
    }
  }
});
afterAll(() => database.drop());

async function matching(filter: Filter): Promise<string[]> {
  const values: unknown[] = [organizationId];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const sql = filterSql(filter, { bind, moment: NOW });
  const rows = await database.source.query<{ id: string }[]>(
    `SELECT id FROM ${TABLE} WHERE organization_id = $1 AND ${sql} ORDER BY id`,
    values,
  );
  return rows.map(({ id }) => id);
}

const matchedBy = (filter: Filter) =>
  people
    .filter((person) => matchesFilter(filter, person, NOW))
    .map(({ id }) => id)
    .toSorted();

/** A value that some contact has, or a random one. */
function valueFor(field: string): string {
  const details = pick(random, people).details as unknown as Record<string, string | null>;
  const text = details[field] ?? textOf(random, 2);
  const letters = [...text];
  const part = random(2) ? text : letters.slice(random(letters.length), 1 + random(letters.length)).join('');
  const given = part.trim() || text;
  return pick(random, [given, given.toUpperCase(), given.toLowerCase()]).slice(0, 100);
}

function aCondition(): unknown {
  const time = () => new Date(NOW.getTime() - random(60) * DAY_MS).toISOString();
  switch (random(10)) {
    case 0:
      return { field: 'subscribed', op: pick(random, ['is', 'isNot']), value: random(2) === 0 };
    case 1: {
      const op = pick(random, ['atLeast', 'atMost', 'between', 'inLast']);
      const [from, to] = [time(), time()].toSorted();
      const value = op === 'inLast' ? 1 + random(60) : op === 'between' ? [from, to] : from;
      return { field: pick(random, ['createdAt', 'updatedAt']), op, value };
    }
    case 2:
      return { field: pick(random, ['phone', 'bio', 'city', 'email']), op: 'isSet' };
    case 3:
    case 4:
    case 5: {
      const field = pick(random, ['email', 'firstName', 'lastName', 'zip', 'city', 'country', 'region']);
      return { field, op: pick(random, ['is', 'isNot', 'contains', 'startsWith']), value: valueFor(field) };
    }
    case 6:
    case 7:
      return customCondition();
    default: {
      const [name, ids] = pick(random, [...records]);
      return { [name]: pick(random, ids), ...(random(2) ? { inLast: 1 + random(60) } : {}) };
    }
  }
}

/** Values of any type, as if the field had replaced another one. `readFilter` accepts only those of its type. */
function customCondition(): FieldCondition {
  const field = `fields.${pick(random, [...customFields.keys()])}`;
  const texts = people
    .flatMap((one) => Object.values(one.customFields))
    .filter((one) => typeof one === 'string');
  const text = () =>
    pick(random, [textOf(random, 1), pick(random, texts), pick(random, texts).toUpperCase()]);
  const [from, to] = pick(random, [
    [-1.5, 2],
    [0, 1e21],
    [dayBefore(40), dayBefore(10)],
  ] as const);
  return pick<FieldCondition>(random, [
    { field, op: 'isSet' },
    { field, op: pick(random, ['is', 'isNot']), value: pick(random, [text(), 2, 1e21, true]) },
    { field, op: pick(random, ['contains', 'startsWith']), value: text() },
    { field, op: pick(random, ['atLeast', 'atMost']), value: pick(random, [from, to]) },
    { field, op: 'between', value: [from, to] as [string, string] },
    { field, op: 'inLast', value: 1 + random(60) },
  ]);
}

function aFilter(depth = 0): unknown {
  if (depth === 4 || random(3) === 0) return aCondition();
  const parts = () => Array.from({ length: 1 + random(3) }, () => aFilter(depth + 1));
  return pick(random, [
    () => ({ all: parts() }),
    () => ({ any: parts() }),
    () => ({ not: aFilter(depth + 1) }),
  ])();
}

it('PostgreSQL and matchesFilter find the same contacts for random filters, and not finds all others', async () => {
  const sizes = new Set<number>();
  for (let n = 0; n < (isLong ? 500 : 100); n += 1) {
    const filter = aFilter() as Filter;
    const found = await matching(filter);
    try {
      expect(found).toEqual(matchedBy(filter));
      const others = new Set(people.map(({ id }) => id));
      for (const id of found) others.delete(id);
      expect(await matching({ not: filter })).toEqual([...others].toSorted());
    } catch (error) {
      throw new Error(`The filter ${JSON.stringify(filter)} finds other contacts (SEED=${SEED}).`, {
        cause: error,
      });
    }
    sizes.add(found.length);
  }
  expect(sizes.size).toBeGreaterThan(isLong ? 50 : 20);
});

it('a condition on a deleted or unknown record matches no one', async () => {
  for (const [name, ids] of records)
    for (const id of [...ids.slice(2), 'no id'])
      expect([name, await matching({ [name]: id })]).toEqual([name, []]);
  expect([...records.keys()].toSorted()).toEqual(['list', 'received', 'signed', 'tag']);
});

it('a condition of a kind that this version does not know is not guessed', async () => {
  const conditions = [
    { later: newId() },
    { field: 'later', op: 'is', value: 'A' },
    { field: 'city', op: 'later' },
  ];
  for (const condition of conditions as Filter[])
    await expect(matching({ not: condition })).rejects.toThrow('A newer version of this program');
});

const SIZE = isLong ? 1_000_000 : 20_000;

describe(`in an organization with ${SIZE.toLocaleString('en')} contacts`, () => {
  const large = newId();
  const custom = (['NUMBER', 'TEXT'] as const).map((type) => ({
    ...{ id: newId(), key: type.toLowerCase(), name: type, type, options: [] },
  }));
  const digits = String(SIZE / 4).length;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    const { source } = database;
    await source.query(
      `INSERT INTO ${TABLE} (organization_id, id, version, created_at, updated_at, subscribed, email, email_compared,
         first_name, zip, city, region, country, custom_fields)
       SELECT $1, gen_random_uuid(), 1, $2::timestamptz - n * interval '1 min', $2, true, 'p' || n || '@example.org',
         'p' || n || '@example.org', 'Ada', lpad((n % ($3 / 4))::text, $4, '0'), 'City ' || n % ($3 / 100), 'R' || n % ($3 / 100),
         'C' || n % ($3 / 100), jsonb_build_object($5::text, n % ($3 / 100), $6::text, 'Group É' || n % ($3 / 100))
       FROM generate_series(1, $3::int) n`,
      [large, NOW, SIZE, digits, ...custom.map(({ id }) => id)],
    );
    await source.query(
      `INSERT INTO ${fields.table} (organization_id, id, created_at, updated_at, version, state, bytes, key)
       SELECT $1, f.id, now(), now(), 1, '{}', 2, f.key FROM unnest($2::uuid[], $3::text[]) AS f(id, key)`,
      [large, custom.map(({ id }) => id), custom.map(({ key }) => key)],
    );
    const broadcastId = newId();
    ids.set('received', broadcastId);
    await source.query(
      `WITH sending AS (
         INSERT INTO broadcast_sendings (id, organization_id, broadcast_id, total) VALUES (gen_random_uuid(), $1, $2, 100) RETURNING id)
       INSERT INTO broadcast_recipients (sending_id, contact_id, status)
       SELECT sending.id, c.id, 'SENT' FROM sending, (SELECT id FROM ${TABLE} WHERE organization_id = $1 LIMIT 100) AS c`,
      [large, broadcastId],
    );
    const { resource: broadcasts } = namedInFilters().get('received')!;
    await source.query(
      `INSERT INTO ${broadcasts.table} (organization_id, id, created_at, updated_at, version, state, bytes, name)
       VALUES ($1, $2, now(), now(), 1, '{}', 2, 'A')`,
      [large, broadcastId],
    );
    for (const [name, { resource }] of namedInFilters()) {
      if (!resource.linkTable) continue;
      const id = newId();
      ids.set(name, id);
      await source.query(
        `INSERT INTO ${resource.table} (organization_id, id, created_at, updated_at, version, state, bytes, name)
         VALUES ($1, $2, now(), now(), 1, '{}', 2, 'A')`,
        [large, id],
      );
      await source.query(
        `INSERT INTO ${resource.linkTable} (organization_id, id, record_id, subject_id, created_at, created_position)
         SELECT $1, gen_random_uuid(), $2, id, $3, 1 FROM ${TABLE} WHERE organization_id = $1 LIMIT 100`,
        [large, id, NOW],
      );
      await source.query(`ANALYZE ${resource.linkTable}`);
    }
    await source.query(`ANALYZE ${TABLE}`);
  });

  type Plan = Record<string, number> & { Plans?: Plan[] };
  /** Rows of the widest step. */
  function widest(plan: Plan): number {
    const rows = plan['Actual Rows']! + (plan['Rows Removed by Filter'] ?? 0);
    return Math.max(rows * plan['Actual Loops']!, ...(plan.Plans ?? []).map(widest));
  }
  const is = (field: string, value: unknown, op = 'is') => ({ field, op, value });

  it.each<[filter: unknown, count: number]>([
    [is('city', 'CITY 7'), 100],
    [is('region', 'r7'), 100],
    [is('country', 'c7'), 100],
    [is('zip', `${'0'.repeat(digits - 3)}12`, 'startsWith'), 40],
    [is('fields.number', 7), 100],
    [is('fields.text', 'GROUP é7'), 100],
    [{ received: '' }, 100],
    [is('email', 'P77@example.org'), 1],
    [is('subscribed', false), 0],
    [is('createdAt', '2026-06-15T11:00:00Z', 'atLeast'), 60],
    [{ list: '' }, 100],
    [{ tag: '', inLast: 1 }, 100],
    [{ signed: '' }, 100],
    [{ all: [{ tag: '' }, { not: { field: 'phone', op: 'isSet' } }] }, 100],
    [{ all: [is('city', 'city 7'), { not: is('firstName', 'x', 'contains') }] }, 100],
  ])('%j reads only its contacts, by an index', async (given, count) => {
    const named = JSON.stringify(given).replace(
      /"(list|tag|signed|received)":""/,
      (_, name: string) => `"${name}":"${ids.get(name)!}"`,
    );
    const values: unknown[] = [large];
    const bind = (value: unknown) => `$${values.push(value)}`;
    const sql = filterSql(readFilter(JSON.parse(named), custom), { bind, moment: NOW });
    const [row] = await database.source.query(
      `EXPLAIN (ANALYZE, FORMAT JSON) SELECT FROM ${TABLE} WHERE organization_id = $1 AND ${sql}`,
      values,
    );
    const plan = row['QUERY PLAN'][0].Plan;
    expect(plan['Actual Rows']).toBe(count);
    expect(widest(plan)).toBeLessThan(2_000);
  });
});
