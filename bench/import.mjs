/**
 * Imports through one instance: of new people, the same file again, into a list, and with custom fields and tags. Compared with COPY
 * of the same rows into a table with the same indexes, but without events, keys or checks, and with the work of listmonk for the same
 * rows: one upsert of a subscriber and a list membership per row, ten thousand per transaction. Also measures how long other requests
 * take during an import.
 *
 * Where the time goes: `server µs` and `PostgreSQL µs` are CPU time per line. If their sum is twice the time per line, both processors
 * are busy. `WAL` is what PostgreSQL writes to disk.
 */
import { once } from 'node:events';
import http, { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { v4 as uuid } from 'uuid';
import { copyFrom, copyTo } from './copy.mjs';
import { cpuOf, cpuOfAll, memoryOf, postmasterOf } from './processes.mjs';
import { caller, makeOrganization, withProduct } from './servers.mjs';

export const options = {
  lines: [100_000, 'lines in the file'],
  rounds: [3, 'rounds per contender, each with a new organization'],
  format: ['csv', 'format of the file: ndjson or csv'],
};

/** Pause between two requests of the other user. */
const OTHER_MS = 20;
const REST_SECONDS = 10;

export async function run(bench) {
  const { lines, rounds, format } = bench.options;
  await bench.withDatabase((url) =>
    withProduct(url, 1, async ({ servers: [server], env }) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const agent = new http.Agent({ keepAlive: true });
      try {
        const measures = { server, postmaster: await postmasterOf(url), lines, client };
        let organization;
        /** Calls operations for a new organization. */
        const renewed = async () => {
          organization = await makeOrganization(env);
          const { organizationId, key } = organization;
          const call = caller([server.port], agent, key);
          return (method, operation, body) => call(method, operation, body && { organizationId, ...body });
        };
        const table = await contactsTable(client);
        /** A contender that imports new people in the background while someone else reads. */
        const background = (name, prepare, extra) => ({
          name,
          async measure() {
            const call = await renewed();
            const query = await prepare(call);
            const { contactId } = await call('POST', 'contact.create-contact', {
              email: 'other@example.org',
            });
            const times = [];
            const figures = await measured(measures, async () => {
              const other = reader(
                call,
                `organizationId=${organization.organizationId}&contactId=${contactId}`,
                times,
              );
              await importInBackground(server, organization, call, { lines, format, query, extra });
              await other.stop();
            });
            return { ...figures, 'p99 ms of others': percentile(times, 0.99) };
          },
        });
        const result = await bench.measure(
          `${lines.toLocaleString('en')} lines, ${format}`,
          [
            {
              name: 'new lines',
              async measure() {
                await renewed();
                return measured(measures, () =>
                  importFile(server, organization, { lines, format }, { created: lines }),
                );
              },
            },
            {
              name: 'the same again',
              measure: () =>
                measured(measures, () =>
                  importFile(server, organization, { lines, format }, { unchanged: lines }),
                ),
            },
            {
              name: 'COPY of the rows',
              async measure() {
                const columns = await storedColumns(client, table);
                const rows = await copyTo(
                  client,
                  `SELECT ${columns} FROM ${table} WHERE organization_id = '${organization.organizationId}'`,
                );
                await client.query('DROP TABLE IF EXISTS copied');
                await client.query(`CREATE TABLE copied (LIKE ${table} INCLUDING ALL)`);
                const figures = await measured(measures, () => copyFrom(client, `copied (${columns})`, rows));
                const { rows: counted } = await client.query('SELECT count(*)::int AS count FROM copied');
                if (counted[0].count !== lines) throw new Error(`COPY has ${counted[0].count} rows.`);
                return figures;
              },
            },
            background('into a list', toList),
            background('into a list, fields and tags', toListWithFields, extraOf),
            {
              name: 'upserts as by listmonk',
              async measure() {
                await client.query(UPSERT_TABLES);
                return measured(measures, () => upsertAll(client, lines));
              },
            },
            {
              name: 'no import',
              async measure() {
                const call = await renewed();
                const times = [];
                const { contactId } = await call('POST', 'contact.create-contact', {
                  email: 'other@example.org',
                });
                const other = reader(
                  call,
                  `organizationId=${organization.organizationId}&contactId=${contactId}`,
                  times,
                );
                await sleep(REST_SECONDS * 1_000);
                await other.stop();
                return { 'lines/s': NaN, 'p99 ms of others': percentile(times, 0.99) };
              },
            },
          ],
          rounds,
        );
        bench.target('new lines/s', result.values('new lines', 'lines/s'));
        bench.target('new lines ÷ COPY', result.ratio('new lines', 'COPY of the rows', 'lines/s'), {
          least: 0.15,
        });
        const listmonk = 'upserts as by listmonk';
        bench.target('into a list ÷ listmonk’s work', result.ratio('into a list', listmonk, 'lines/s'), {
          least: 1,
        });
        bench.target(
          'with fields and tags ÷ listmonk’s work',
          result.ratio('into a list, fields and tags', listmonk, 'lines/s'),
          { least: 0.7 },
        );
        bench.target(
          'p99 of others during an import ÷ without one',
          result.ratio('into a list', 'no import', 'p99 ms of others'),
          { most: 2 },
        );
        bench.target('peak MiB of the server', result.values('into a list', 'peak MiB'), { most: 220 });
      } finally {
        agent.destroy();
        await client.end();
      }
    }),
  );
}

async function measured({ server, postmaster, lines, client }, work) {
  await client.query('CHECKPOINT');
  const [{ lsn }] = (await client.query('SELECT pg_current_wal_lsn() AS lsn')).rows;
  const [begin, own, databases] = [performance.now(), cpuOf(server.pid), cpuOfAll(postmaster)];
  await work();
  const seconds = (performance.now() - begin) / 1000;
  const cpu = [cpuOf(server.pid) - own, cpuOfAll(postmaster) - databases];
  const written = 'SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::float8 AS bytes';
  const [{ bytes }] = (await client.query(written, [lsn])).rows;
  return {
    'lines/s': lines / seconds,
    'µs per line': (seconds * 1_000_000) / lines,
    'server µs': cpu[0] / lines,
    'PostgreSQL µs': cpu[1] / lines,
    'WAL bytes': bytes / lines,
    'peak MiB': memoryOf(server.pid).peak,
  };
}

/** Someone who reads a contact, waits for the response and pauses, until stopped. @param times filled with milliseconds */
function reader(call, query, times) {
  let isStopped = false;
  const reading = (async () => {
    while (!isStopped) {
      const begin = performance.now();
      await call('GET', `contact.get-contact?${query}`);
      times.push(performance.now() - begin);
      await sleep(OTHER_MS);
    }
  })();
  return {
    stop: () => {
      isStopped = true;
      return reading;
    },
  };
}

function percentile(times, share) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

/** What listmonk stores of a subscriber (schema.sql and importer.go in its repository), in tables of the same form. */
const UPSERT_TABLES = `
  DROP TABLE IF EXISTS on_lists, people;
  CREATE TABLE people (
    id serial PRIMARY KEY, uuid uuid NOT NULL UNIQUE, email text NOT NULL UNIQUE, name text NOT NULL,
    attributes jsonb NOT NULL DEFAULT '{}', status text NOT NULL, campaigns integer[],
    created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
  CREATE UNIQUE INDEX ON people (lower(email));
  CREATE INDEX ON people (status);
  CREATE TABLE on_lists (
    person_id integer REFERENCES people ON DELETE CASCADE, list_id integer, status text NOT NULL,
    created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), PRIMARY KEY (person_id, list_id));
  CREATE INDEX ON on_lists (person_id);
  CREATE INDEX ON on_lists (list_id);
  CREATE INDEX ON on_lists (status);`;
const UPSERT = `
  WITH person AS (
    INSERT INTO people AS p (uuid, email, name, attributes, status) VALUES ($1, $2, $3, $4, 'enabled')
    ON CONFLICT (email) DO UPDATE SET name = excluded.name, attributes = excluded.attributes, updated_at = now()
    RETURNING id)
  INSERT INTO on_lists (person_id, list_id, status) SELECT id, $5, 'confirmed' FROM person
  ON CONFLICT (person_id, list_id) DO UPDATE SET status = excluded.status, updated_at = now()`;
const UPSERTS_PER_TRANSACTION = 10_000;

/** One prepared statement per row on one connection, like listmonk. Rows are not parsed or validated. */
async function upsertAll(client, lines) {
  for (let n = 0; n < lines; n += 1) {
    if (n % UPSERTS_PER_TRANSACTION === 0) await client.query(n === 0 ? 'BEGIN' : 'COMMIT; BEGIN');
    const { email, firstName, lastName, ...attributes } = contactOf(n);
    const values = [uuid(), email, `${firstName} ${lastName}`, JSON.stringify(attributes), 1];
    await client.query({ name: 'upsert', text: UPSERT, values });
  }
  await client.query('COMMIT');
}

async function toList(call) {
  return { listId: (await call('POST', 'list.create-list', { name: 'News' })).listId };
}

async function toListWithFields(call) {
  for (const name of ['Shoe size', 'Party']) await call('POST', 'field.create-field', { name, type: 'TEXT' });
  return toList(call);
}

/** Values of custom fields and tags, by their columns. */
function extraOf(n) {
  return {
    'Shoe size': String(36 + (n % 10)),
    Party: 'green',
    tags: n % 2 ? 'volunteer;donor' : 'volunteer',
  };
}

/** The projection's table, with its schema. */
async function contactsTable(client) {
  const { rows } = await client.query(
    `SELECT schemaname FROM pg_tables WHERE tablename = 'contacts' AND schemaname ~ '^contacts_v[0-9]+$'`,
  );
  return `${rows[0].schemaname}.contacts`;
}

/** The names of a table's columns, without generated ones, which COPY does not accept. */
async function storedColumns(client, table) {
  const { rows } = await client.query(
    `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS names FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  );
  return rows[0].names;
}

function contactOf(n) {
  return {
    email: `person-${n}@example.org`,
    firstName: 'Ada',
    lastName: `Example ${n}`,
    address: 'Rue de la République 12',
    zip: '69001',
    city: 'Lyon',
    country: 'France',
  };
}

/** The body in chunks, which are created while it is sent. */
function* text({ lines, format, extra = () => ({}) }) {
  const fieldsOf = (n) => ({ ...contactOf(n), ...extra(n) });
  if (format === 'csv') yield `${Object.keys(fieldsOf(0)).join(',')}\n`;
  let chunk = '';
  for (let n = 0; n < lines; n += 1) {
    const fields = fieldsOf(n);
    chunk += format === 'csv' ? `${Object.values(fields).join(',')}\n` : `${JSON.stringify(fields)}\n`;
    if (chunk.length < 65_536) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** Streams a file to an operation. @returns `data` of its response */
async function send(server, { organizationId, key }, operation, file, query = {}) {
  const search = new URLSearchParams({ organizationId, subscribed: 'true', ...query }).toString();
  const post = request(`http://127.0.0.1:${server.port}/v1/${operation}?${search}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': file.format === 'csv' ? 'text/csv' : 'application/x-ndjson',
    },
  });
  const responding = once(post, 'response');
  await pipeline(Readable.from(text(file)), post);
  const [response] = await responding;
  let body = '';
  for await (const part of response.setEncoding('utf8')) body += part;
  const { data } = JSON.parse(body);
  if (!data) throw new Error(body.slice(0, 1_000));
  return data;
}

async function importFile(server, organization, file, expected) {
  const data = await send(server, organization, 'contact.import-contacts', file);
  check(data, { failedCount: 0, ...expected });
}

async function importInBackground(server, organization, call, { query, ...file }) {
  const { importId } = await send(server, organization, 'import.create-import', file, query);
  for (;;) {
    const found = await call('GET', `import.get-import?importId=${importId}`);
    if (found.status === 'DONE') return check(found, { failed: 0, created: file.lines });
    if (found.status === 'FAILED') throw new Error(JSON.stringify(found));
    await sleep(100);
  }
}

function check(counts, expected) {
  for (const [name, count] of Object.entries({ created: 0, updated: 0, unchanged: 0, ...expected })) {
    if (counts[name] !== count)
      throw new Error(`${name} is not ${count} in: ${JSON.stringify(counts).slice(0, 1_000)}`);
  }
}
