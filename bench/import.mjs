/**
 * Imports over HTTP through one instance: a file of new contacts, then the same file again. Compared with COPY of the same rows into
 * a table with the same indexes, but without events, keys or checks.
 */
import { request } from 'node:http';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { copyFrom, copyTo } from './copy.mjs';
import { cpuOf, cpuOfAll, memoryOf, postmasterOf } from './processes.mjs';
import { makeOrganization, withProduct } from './servers.mjs';

export const options = {
  lines: [500_000, 'lines in the file'],
  rounds: [3, 'rounds per contender, each with a new organization'],
  format: ['ndjson', 'format of the file: ndjson or csv'],
};

export async function run(bench) {
  const { lines, rounds, format } = bench.options;
  await bench.withDatabase((url) =>
    withProduct(url, 1, async ({ servers: [server], env }) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        const measures = { server, postmaster: await postmasterOf(url), lines };
        let organization;
        const send = (expected) =>
          measured(measures, () => importFile(server, organization, lines, format, expected));
        const table = await contactsTable(client);
        const result = await bench.measure(
          `${lines.toLocaleString('en')} lines, ${format}`,
          [
            {
              name: 'new lines',
              async measure() {
                organization = await makeOrganization(env);
                return send({ created: lines });
              },
            },
            { name: 'the same again', measure: () => send({ unchanged: lines }) },
            {
              name: 'COPY of the rows',
              async measure() {
                const rows = await copyTo(
                  client,
                  `SELECT * FROM ${table} WHERE organization_id = '${organization.organizationId}'`,
                );
                await client.query('DROP TABLE IF EXISTS copied');
                await client.query(`CREATE TABLE copied (LIKE ${table} INCLUDING ALL)`);
                const figures = await measured(measures, () => copyFrom(client, 'copied', rows));
                const { rows: counted } = await client.query('SELECT count(*)::int AS count FROM copied');
                if (counted[0].count !== lines) throw new Error(`COPY has ${counted[0].count} rows.`);
                return figures;
              },
            },
          ],
          rounds,
        );
        bench.target('new lines/s', result.values('new lines', 'lines/s'), { least: 15_000 });
        bench.target('new lines ÷ COPY', result.ratio('new lines', 'COPY of the rows', 'lines/s'), {
          least: 0.15,
        });
        bench.target('peak MiB of the server', result.values('new lines', 'peak MiB'));
      } finally {
        await client.end();
      }
    }),
  );
}

async function measured({ server, postmaster, lines }, work) {
  const [begin, own, databases] = [performance.now(), cpuOf(server.pid), cpuOfAll(postmaster)];
  await work();
  const seconds = (performance.now() - begin) / 1000;
  return {
    'lines/s': lines / seconds,
    'server µs': (cpuOf(server.pid) - own) / lines,
    'PostgreSQL µs': (cpuOfAll(postmaster) - databases) / lines,
    'peak MiB': memoryOf(server.pid).peak,
  };
}

/** The projection's table, with its schema. */
async function contactsTable(client) {
  const { rows } = await client.query(
    `SELECT schemaname FROM pg_tables WHERE tablename = 'contacts' AND schemaname ~ '^contacts_v[0-9]+$'`,
  );
  return `${rows[0].schemaname}.contacts`;
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
function* text(lines, format) {
  if (format === 'csv') yield `${Object.keys(contactOf(0)).join(',')}\n`;
  let chunk = '';
  for (let n = 0; n < lines; n += 1) {
    const contact = contactOf(n);
    chunk += format === 'csv' ? `${Object.values(contact).join(',')}\n` : `${JSON.stringify(contact)}\n`;
    if (chunk.length < 65_536) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

async function importFile(server, { organizationId, key }, lines, format, expected) {
  const post = request(
    `http://127.0.0.1:${server.port}/v1/contact.import-contacts?organizationId=${organizationId}&subscribed=true`,
    {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
      },
    },
  );
  const responding = once(post, 'response');
  await pipeline(Readable.from(text(lines, format)), post);
  const [response] = await responding;
  let body = '';
  for await (const part of response.setEncoding('utf8')) body += part;
  const { data } = JSON.parse(body);
  for (const [name, count] of Object.entries({
    created: 0,
    updated: 0,
    unchanged: 0,
    failedCount: 0,
    ...expected,
  })) {
    if (data?.[name] !== count) throw new Error(`${name} is not ${count} in: ${body.slice(0, 1_000)}`);
  }
}
