/**
 * Resident memory of one server process: idle, during signatures, during an import and an export of contacts, and over an hour's
 * worth of requests. The hour assumes a hundred requests per second. For a fifth of that time, the requests are signatures of new people; otherwise reads.
 */
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from './load.mjs';
import { checkCount, importContacts, newPetition, signers, writeIds } from './people.mjs';
import { memoryOf } from './processes.mjs';
import { withProduct } from './servers.mjs';

export const options = {
  idle: [20, 'seconds without requests after the start'],
  seconds: [10, 'seconds of signatures'],
  connections: [64, 'connections; each waits for its response before the next request'],
  lines: [100_000, 'lines in the import'],
  requests: [360_000, 'requests: an hour’s worth at 100 per second'],
};

/** Targets in MiB. */
const IDLE = 130;
const BUSY = 220;
/** The maximum growth from the second quarter of the hour to the last. */
const MAX_GROWTH = 1.05;

export async function run(bench) {
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-bench-'));
  try {
    await bench.withDatabase((url) =>
      withProduct(url, 1, async (product) => {
        const pool = new pg.Pool({ connectionString: url, max: 1 });
        try {
          await measure(bench, { ...product, server: product.servers[0], pool, directory });
        } finally {
          await pool.end();
        }
      }),
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(bench, { server, organizationId, key, call, pool, directory }) {
  const { idle, seconds, connections, lines, requests } = bench.options;
  const rows = [];
  const phase = async (name, work) => {
    const samples = [];
    const sampling = setInterval(() => samples.push(memoryOf(server.pid).now), 50);
    await work();
    clearInterval(sampling);
    samples.push(memoryOf(server.pid).now);
    const peak = Math.max(...samples);
    rows.push({ name, figures: { 'peak MiB': [peak], 'MiB at the end': [samples.at(-1)] } });
    return samples;
  };
  const limit = (name, samples, most) => bench.target(`${name}, MiB`, [Math.max(...samples)], { most });

  limit('idle', await phase('idle', () => sleep(idle * 1000)), IDLE);

  const petitionId = await newPetition(call);
  let answered = 0;
  let sent = 0;
  const send = async (request, duration) => {
    const result = await load(server.port, { key, ...request }, { connections, seconds: duration });
    if (request.method === 'POST') {
      answered += result.answered;
      sent += result.sent;
    }
    return result.answered;
  };
  const signing = signers(petitionId);
  limit('under signatures', await phase('signatures', () => send(signing, seconds)), BUSY);

  let ids;
  const importing = async () => {
    ids = await importContacts(pool, server.port, organizationId, key, lines);
  };
  limit('during an import', await phase(`import of ${lines.toLocaleString('en')} lines`, importing), BUSY);
  const exporting = () => exportContacts(server.port, key, lines + answered);
  limit('during an export', await phase('export of all contacts', exporting), BUSY);

  const read = (path, file) => ({ path: `/v1/${path}`, ids: file });
  const file = await writeIds(join(directory, 'contacts'), ids);
  const reads = [
    read(`contact.get-contact?organizationId=${organizationId}&contactId={id}`, file),
    read(`petition.get-petition?petitionId=${petitionId}`),
    read(`contact.list-contacts?organizationId=${organizationId}`),
    read(`petition.list-signatures?petitionId=${petitionId}`),
  ];
  const hour = await phase(`${requests.toLocaleString('en')} requests`, async () => {
    for (let done = 0; done < requests;) {
      for (const request of [signing, ...reads]) done += await send(request, 1);
    }
  });
  limit('over an hour’s worth of requests', hour, BUSY);
  bench.table('resident memory', rows);
  const [, second, , last] = quarters(hour).map((samples) => Math.max(...samples));
  bench.target('last ÷ second quarter of the hour', [last / second], { most: MAX_GROWTH });

  await checkCount(call, petitionId, { answered, sent });
  bench.note(
    `${answered.toLocaleString('en')} signatures were acknowledged, and the petition counts all of them.`,
  );
}

/** @throws if contacts are missing. There may be more than were acknowledged, because the load ends while requests are in flight. */
async function exportContacts(port, key, atLeast) {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`http://127.0.0.1:${port}/v1/contact.export-contacts`, { headers });
  let lines = 0;
  for await (const chunk of response.body) for (const byte of chunk) if (byte === 10) lines += 1;
  if (lines < atLeast) throw new Error(`${lines} contacts were exported, but at least ${atLeast} exist.`);
}

function quarters(samples) {
  const length = Math.ceil(samples.length / 4);
  return [0, 1, 2, 3].map((n) => samples.slice(n * length, (n + 1) * length));
}
