/**
 * Durable appends per second, of one event per command. Compares our event store, emmett-postgresql and, as an upper limit, a single
 * INSERT of as many rows. One process, one PostgreSQL.
 */
import { STREAM_DOES_NOT_EXIST } from '@event-driven-io/emmett';
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { migrate, openDatabase } from '../dist/libs/database/index.js';
import { EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { Projections } from '../dist/libs/projections/index.js';
import { migrations } from '../dist/migrations/index.js';
import { round } from './rounds.mjs';
import { data, metadata, personal } from './sample-event.mjs';

export const options = {
  callers: [[1, 64, 256], 'concurrent callers; each waits for its append'],
  rounds: [3, 'rounds per contender'],
  seconds: [3, 'seconds per round'],
  'warm-up': [0.5, 'seconds at the start of each round that do not count'],
  pool: [10, 'connections per contender'],
};

const organizationId = randomUUID();

const OURS = 'ours';
const EMMETT = 'emmett-postgresql';

export async function run(bench) {
  const { callers: counts, rounds, seconds, 'warm-up': warmUpSeconds, pool } = bench.options;
  await bench.withDatabase(async (url) => {
    let ours, emmett, insert;
    try {
      ours = await openOurs(url, pool);
      emmett = await openEmmett(url, pool);
      insert = await openInsert(url);
      for (const callers of counts) {
        const appends = (name, operation) => ({
          name,
          measure: () => figuresOf({ operation }, { callers, seconds, warmUpSeconds }),
        });
        /** One caller that runs one statement at a time, with this many rows. */
        const inserts = (rows) => ({
          name: insertOf(rows),
          measure: () =>
            figuresOf(
              { operation: () => insert.rows(rows), counts: rows },
              { callers: 1, seconds, warmUpSeconds },
            ),
        });
        const contenders = [
          appends(OURS, ours.append),
          appends(EMMETT, emmett.append),
          inserts(callers),
          inserts(1_000),
          appends('ours, then read your writes', ours.appendAndProject),
          appends('ours, personal data encrypted', ours.appendPersonal),
        ];
        const result = await bench.measure(`${callers} callers`, contenders, rounds);
        const ratio = (other) => result.ratio(OURS, other, 'appends/s');
        const targets = {
          1: { emmett: { least: 1 } },
          64: { emmett: { least: 5.5 }, insert: { least: 0.35 } },
        }[callers];
        bench.target(`ours ÷ emmett, at ${callers}`, ratio(EMMETT), targets?.emmett);
        bench.target(`ours ÷ one INSERT, at ${callers}`, ratio(insertOf(callers)), targets?.insert);
      }
    } finally {
      await Promise.all([ours, emmett, insert].map((contender) => contender?.close()));
    }
  });
}

function insertOf(rows) {
  return `INSERT of ${rows} row${rows === 1 ? '' : 's'}`;
}

async function figuresOf(contender, settings) {
  const { rate, p50, p99 } = await round(contender, settings);
  return { 'appends/s': rate, 'p50 ms': p50, 'p99 ms': p99 };
}

async function openOurs(url, poolSize) {
  const source = await openDatabase({ url, poolSize, migrations });
  await migrate(source);
  const store = new EventStore(source, new Keyring(randomBytes(32)));
  const silent = { log() {}, warn() {}, error: console.error };
  const projections = new Projections(source, store, [signatures], silent);
  await projections.start();

  async function append(event, streamId = randomUUID(), subjectId = undefined) {
    const write = { streamType: 'signature', streamId, expectedVersion: 0, events: [event], subjectId };
    const result = await store.append({ organizationId, metadata, writes: [write] });
    if (result.status !== 'appended') throw new Error(`The append ended as "${result.status}".`);
    return result.position;
  }
  return {
    append: () => append({ type: 'PetitionSigned', data }),
    async appendAndProject() {
      // Waits for the projection like a command. The separate type keeps events of other rounds out of it.
      await projections.catchUp(await append({ type: 'PetitionSignedAndShown', data }));
    },
    /** Appends the first event of a subject. The subject's key is created, wrapped and stored with it. */
    async appendPersonal() {
      const subjectId = randomUUID();
      await append({ type: 'PetitionSigned', data, personal }, subjectId, subjectId);
    },
    close: () => source.destroy(),
  };
}

/** A projection of signatures with an exact counter per petition. */
const signatures = {
  name: 'signatures',
  version: 1,
  handles: ['PetitionSignedAndShown'],
  tables: `
    CREATE TABLE signatures (signature_id uuid PRIMARY KEY, petition_id uuid NOT NULL, signed_at timestamptz NOT NULL);
    CREATE TABLE petitions (petition_id uuid PRIMARY KEY, signatures bigint NOT NULL)`,
  async apply(events, transaction) {
    await transaction.query(
      `WITH signed AS (
         INSERT INTO signatures SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) RETURNING petition_id
       )
       INSERT INTO petitions SELECT petition_id, count(*) FROM signed GROUP BY petition_id
       ON CONFLICT (petition_id) DO UPDATE SET signatures = petitions.signatures + excluded.signatures`,
      [
        events.map(({ streamId }) => streamId),
        events.map((event) => event.data.petitionId),
        events.map(({ recordedAt }) => recordedAt),
      ],
    );
  },
};

/** Set up as its documentation describes: a pool, a migrated schema, and appends that require a new stream. */
async function openEmmett(connectionString, poolSize) {
  const pool = new pg.Pool({ connectionString, max: poolSize });
  const store = getPostgreSQLEventStore(connectionString, { connectionOptions: { pooled: true, pool } });
  await store.schema.migrate();
  return {
    append: () =>
      store.appendToStream(`signature-${randomUUID()}`, [{ type: 'PetitionSigned', data, metadata }], {
        expectedStreamVersion: STREAM_DOES_NOT_EXIST,
      }),
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

/**
 * A plain table with the columns of ours, without indexes, checks, ordering or concurrency control. Rows are sent as one array per
 * column, which is a third faster than a VALUES list for 64 rows or more.
 */
async function openInsert(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('CREATE TABLE plain (LIKE events)');
  const { rows: types } = await client.query(
    `SELECT format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = 'plain'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  const arrays = types.map(({ type }, column) => `$${column + 1}::${type}[]`);
  const statement = `INSERT INTO plain SELECT * FROM unnest(${arrays.join()})`;
  let position = 0;
  return {
    async rows(count) {
      const rows = Array.from({ length: count }, () => plainRow((position += 1)));
      await client.query(
        statement,
        arrays.map((_, column) => rows.map((row) => row[column])),
      );
    },
    close: () => client.end(),
  };
}

const digest = randomBytes(32);

/** The values in the order of the columns of `events`. */
function plainRow(position) {
  return [
    ...[position, organizationId, 'signature', randomUUID(), 1, randomUUID(), 'PetitionSigned', 1],
    ...[JSON.stringify(data), null, null, JSON.stringify(metadata), new Date(), digest],
  ];
}
