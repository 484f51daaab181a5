/**
 * Read models built anew from a history: `projections rebuild` of each, the same tables by set-based SQL, and one transaction an
 * event. All make the same rows with the same indexes, and none is believed before its rows were counted.
 *
 * SQL builds as who knows PostgreSQL would: one INSERT … SELECT from the events, its indexes afterwards. It cannot decrypt: what
 * persons said comes to it out of the read model that is there, in clear and sealed as it has to be.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { inTransaction, migrate, openDatabase } from '../dist/libs/database/index.js';
import { EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { Projections } from '../dist/libs/projections/index.js';
import { migrations } from '../dist/migrations/index.js';
import { projections as all, upcasters } from '../dist/src/modules.js';
import { cpuOfAll, postmasterOf } from './processes.mjs';

export const options = {
  events: [1_000_000, 'of the history: two of five contacts, two signatures, one memberships and tags'],
  sample: [2_000, 'events of each read model that are applied in one transaction each'],
  rounds: [3, 'of each contender'],
};

/** Events of one append. */
const CHUNK = 500;
/** Records of each kind. */
const RECORDS = 100;

const organizationId = randomUUID();
const metadata = { actor: { type: 'system', id: 'bench' }, requestId: 'bench' };

/** The kinds that count links: their read models, the event that makes a record, the one that begins a link. */
const LINKED = {
  petitions: {
    ...{ type: 'petition', created: 'PetitionCreated', links: 'signatures', counter: 'signatures' },
    ...{ stream: 'signature', begins: 'PetitionSigned', field: 'petitionId' },
    data: { title: 'Save the river', goal: 1000 },
  },
  lists: {
    ...{ type: 'list', created: 'ListCreated', links: 'members', counter: 'contacts' },
    ...{ stream: 'list-membership', begins: 'ContactAddedToList', field: 'listId' },
    data: { description: null },
  },
  tags: {
    ...{ type: 'tag', created: 'TagCreated', links: 'taggings', counter: 'contacts' },
    ...{ stream: 'tagging', begins: 'ContactTagged', field: 'tagId' },
    data: { description: null },
  },
};
const NAMES = ['contacts', ...Object.keys(LINKED)];

export async function run(bench) {
  await bench.withDatabase(async (url) => {
    const source = await openDatabase({ url, poolSize: 10, migrations });
    try {
      await migrate(source);
      const store = new EventStore(source, new Keyring(randomBytes(32)), upcasters);
      const silent = { log() {}, warn: console.error, error: console.error };
      const projections = new Projections(source, store, all, silent);
      await fill(store, bench.options.events);
      await projections.start();
      await source.query('VACUUM (ANALYZE)');
      const postmaster = await postmasterOf(url);
      for (const name of NAMES) await compare(bench, { source, store, projections, postmaster }, name);
      await projections.stop();
    } finally {
      await source.destroy();
    }
  });
}

async function compare(bench, { source, store, projections, postmaster }, name) {
  const projection = all.find((one) => one.name === name);
  const schema = `${name}_v${projection.version}`;
  const { rounds, sample } = bench.options;
  const [{ events }] = await source.query(
    'SELECT count(*)::int AS events FROM events WHERE type = ANY ($1)',
    [projection.handles],
  );
  const counts = () => countRows(source, schema);
  const expected = await counts();
  const measured = async (count, work) => {
    const [begin, own, databases] = [performance.now(), process.cpuUsage(), cpuOfAll(postmaster)];
    await work();
    const seconds = (performance.now() - begin) / 1000;
    const { user, system } = process.cpuUsage(own);
    return {
      'events/s': count / seconds,
      'µs of Node.js': (user + system) / count,
      'µs of PostgreSQL': (cpuOfAll(postmaster) - databases) / count,
    };
  };
  const isWhole = async (found) => {
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      throw new Error(`${name}: ${JSON.stringify(found)} in place of ${JSON.stringify(expected)}`);
    }
  };

  const result = await bench.measure(
    `${name}, ${events.toLocaleString('en')} events`,
    [
      {
        name: 'rebuild',
        async measure() {
          const figures = await measured(events, () => projections.maintenance.rebuild(name));
          await isWhole(await counts());
          return figures;
        },
      },
      {
        name: 'set-based SQL',
        async measure() {
          const figures = await measured(events, () => bySql(source, name, schema));
          await isWhole(await countRows(source, 'by_sql'));
          return figures;
        },
      },
      {
        name: 'one transaction an event',
        async measure() {
          const count = Math.min(sample, events);
          const last = await source.query(
            'SELECT position FROM events WHERE type = ANY ($1) ORDER BY position OFFSET $2 LIMIT 1',
            [projection.handles, count - 1],
          );
          await source.query('DROP SCHEMA IF EXISTS one_by_one CASCADE');
          await source.query('CREATE SCHEMA one_by_one');
          await inTransaction(source, {}, async (transaction) => {
            await transaction.query('SET LOCAL search_path = one_by_one, public');
            await transaction.query(projection.tables);
            await transaction.query('CREATE TABLE reached (position bigint); INSERT INTO reached VALUES (0)');
          });
          return measured(count, () => oneByOne(source, store, projection, Number(last[0].position)));
        },
      },
    ],
    rounds,
  );
  bench.reach(`${name}: rebuild ÷ SQL`, result.ratio('rebuild', 'set-based SQL', 'events/s'), {
    least: 0.25,
  });
  bench.reach(
    `${name}: rebuild ÷ one transaction an event`,
    result.ratio('rebuild', 'one transaction an event', 'events/s'),
    { least: 30 },
  );
}

/** Contacts, records, and contacts' links with them, as the product's own commands write them. */
async function fill(store, events) {
  const append = async (writes) => {
    const { status } = await store.append({ organizationId, metadata, writes });
    if (status !== 'appended') throw new Error(`The append ended as "${status}".`);
  };
  const write = (streamType, streamId, type, data, more = {}) => ({
    ...{ streamType, streamId, expectedVersion: 0, subjectId: more.subjectId },
    events: [{ type, data, personal: more.personal ?? null }],
  });
  const records = {};
  for (const [name, { type, created, data }] of Object.entries(LINKED)) {
    records[name] = Array.from({ length: RECORDS }, () => uuidv7());
    const named = (id, n) => write(type, id, created, { name: `${name} ${n}`, ...data });
    await append(records[name].map(named));
  }
  const shares = { contacts: 0.4, petitions: 0.4, lists: 0.1, tags: 0.1 };
  const contacts = [];
  for (const [name, share] of Object.entries(shares)) {
    const count = Math.round(events * share);
    for (let made = 0; made < count; made += CHUNK) {
      const writes = Array.from({ length: Math.min(CHUNK, count - made) }, (_, index) => {
        const n = made + index;
        if (name === 'contacts') {
          const id = uuidv7();
          contacts.push(id);
          return write(
            'contact',
            id,
            'ContactCreated',
            { subscribed: true },
            { subjectId: id, personal: personOf(n) },
          );
        }
        const { stream, begins, field } = LINKED[name];
        const subjectId = contacts[n % contacts.length];
        const data = { [field]: records[name][n % RECORDS], contactId: subjectId };
        return write(stream, uuidv7(), begins, data, { subjectId });
      });
      await append(writes);
    }
  }
}

function personOf(n) {
  return {
    ...{ email: `person-${n}@example.org`, firstName: 'Ada', lastName: `Example ${n}` },
    ...{ address: 'Rue de la République 12', zip: '69001', city: 'Lyon', country: 'France' },
  };
}

async function countRows(source, schema) {
  const tables = await source.query('SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1', [
    schema,
  ]);
  const counts = {};
  for (const { tablename } of tables) {
    const [{ count }] = await source.query(`SELECT count(*)::int AS count FROM ${schema}.${tablename}`);
    counts[tablename] = count;
  }
  return counts;
}

async function bySql(source, name, schema) {
  await source.query('DROP SCHEMA IF EXISTS by_sql CASCADE');
  await inTransaction(source, {}, async (transaction) => {
    await transaction.query('CREATE SCHEMA by_sql');
    const tables = await transaction.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema]);
    for (const { tablename } of tables) {
      await transaction.query(`CREATE TABLE by_sql.${tablename} (LIKE ${schema}.${tablename})`);
    }
    const linked = LINKED[name];
    if (linked) {
      for (const { tablename } of tables.filter((one) => one.tablename !== linked.links)) {
        await transaction.query(`INSERT INTO by_sql.${tablename} SELECT * FROM ${schema}.${tablename}`);
      }
      await transaction.query(
        `INSERT INTO by_sql.${linked.links} (organization_id, id, record_id, subject_id, created_at, created_position)
         SELECT organization_id, stream_id, (data->>$2)::uuid, (data->>'contactId')::uuid, recorded_at, position
         FROM events WHERE type = $1`,
        [linked.begins, linked.field],
      );
      await transaction.query(
        `UPDATE by_sql.${name} r SET ${linked.counter} = l.count
         FROM (SELECT record_id, count(*) FROM by_sql.${linked.links} GROUP BY 1) l WHERE r.id = l.record_id`,
      );
    } else {
      await transaction.query(
        `INSERT INTO by_sql.contacts SELECT c.* FROM events e
         JOIN ${schema}.contacts c ON c.organization_id = e.organization_id AND c.id = e.stream_id
         WHERE e.type = 'ContactCreated'`,
      );
    }
    const indexes = await transaction.query('SELECT indexdef FROM pg_indexes WHERE schemaname = $1', [
      schema,
    ]);
    for (const { indexdef } of indexes)
      await transaction.query(indexdef.replace(` ON ${schema}.`, ' ON by_sql.'));
    for (const { tablename } of tables) await transaction.query(`ANALYZE by_sql.${tablename}`);
  });
}

/** Reads the next event, applies it and moves a checkpoint, in one transaction each. */
async function oneByOne(source, store, projection, upTo) {
  for (let position = 0; position < upTo;) {
    await inTransaction(source, {}, async (transaction) => {
      const [event] = await store.readAll(position, upTo, 1, projection.handles, transaction);
      await transaction.query('SET LOCAL search_path = one_by_one, public');
      await projection.apply([event], transaction, store.rows.seal);
      await transaction.query('UPDATE reached SET position = $1', [event.position]);
      position = event.position;
    });
  }
}
