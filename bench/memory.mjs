/**
 * Resident memory of one server process: idle, during signatures, during an import and an export of contacts, and over as
 * many requests as a hundred per second make in an hour. A fifth of the time these are signatures of new people, otherwise
 * reads.
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
  idle: [20, 'seconds after the start'],
  seconds: [10, 'of signatures'],
  connections: [64, 'each awaits its answer before the next request'],
  lines: [100_000, 'of the import, and contacts of the export'],
  requests: [360_000, 'an hour’s worth'],
};

/** The promises in MiB. */
const IDLE = 130;
const BUSY = 220;
/** The growth from the second quarter of the hour to the last. */
const FLAT = 1.05;

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
    const most = Math.max(...samples);
    rows.push({ name, figures: { 'most, MiB': [most], 'at the end, MiB': [samples.at(-1)] } });
    return samples;
  };
  const promise = (name, samples, most) => bench.reach(`${name}, MiB`, [Math.max(...samples)], { most });

  promise('idle', await phase('idle', () => sleep(idle * 1000)), IDLE);

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
  promise('under signatures', await phase('signatures', () => send(signing, seconds)), BUSY);

  let ids;
  const importing = async () => {
    ids = await importContacts(pool, server.port, organizationId, key, lines);
  };
  promise('during an import', await phase(`import of ${lines.toLocaleString('en')} lines`, importing), BUSY);
  const exporting = () => exportContacts(server.port, key, lines + answered);
  promise('during an export', await phase('export of all contacts', exporting), BUSY);

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
  promise('over an hour’s worth of requests', hour, BUSY);
  bench.table('resident memory', rows);
  const [, second, , last] = quarters(hour).map((samples) => Math.max(...samples));
  bench.reach('its last quarter ÷ its second', [last / second], { most: FLAT });

  await checkCount(call, petitionId, { answered, sent });
  bench.note(`${answered.toLocaleString('en')} signatures were acknowledged, and the petition counts each.`);
}

/** @throws if contacts are missing. There may be more than acknowledged, from signatures at the end of the time. */
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
