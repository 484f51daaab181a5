/**
 * How many lines a second an import takes over HTTP, and what memory the server needs for it: a small file and
 * one ten times as large, of which one line in a hundred is bad and one in twenty repeats another. One server
 * process, one PostgreSQL; every file goes into an organization of its own.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

export const options = {
  lines: [[20_000, 200_000], 'of each file'],
  format: ['ndjson', 'or csv'],
};

const dist = fileURLToPath(new URL('../dist/', import.meta.url));

export async function run(bench) {
  const { lines: counts, format } = bench.options;
  await bench.withDatabase(async (DATABASE_URL) => {
    const environment = {
      ...process.env,
      DATABASE_URL,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const server = await startServer({ ...environment, HOST: '127.0.0.1', PORT: '0' });
    try {
      console.log(`${format}, fsync on\n`);
      print('lines', 'time', 'lines/s', 'RSS before', 'at 10 %', 'at 50 %', 'at 100 %', 'most');
      for (const lines of counts) {
        const organization = createOrganization(environment);
        await importFile(server, organization, lines, format);
        await importFile(server, organization, lines, format, 'again');
      }
    } finally {
      server.child.kill('SIGTERM');
      await once(server.child, 'exit');
    }
  });
}

/** One line in a hundred has no address, one in twenty is that of a person before. */
function kindOf(n) {
  return n % 100 === 50 ? 'bad' : n % 20 === 19 ? 'repeated' : 'new';
}

function contactOf(n) {
  const kind = kindOf(n);
  const person = kind === 'repeated' ? n - 10 : n;
  return {
    email: kind === 'bad' ? 'nobody' : `person-${person}@example.org`,
    firstName: 'Ada',
    lastName: `Example ${person}`,
    address: 'Rue de la République 12',
    zip: '69001',
    city: 'Lyon',
    country: 'France',
  };
}

async function importFile({ origin, pid }, { organizationId, key }, lines, format, again) {
  const before = residentMiB(pid);
  // By the time, not by what was sent: between the two lie the buffers of the connection.
  const samples = [];
  const sampling = setInterval(() => samples.push(residentMiB(pid)), 50);
  function* text() {
    const columns = Object.keys(contactOf(0));
    if (format === 'csv') yield `${columns.join(',')}\n`;
    let chunk = '';
    for (let n = 0; n < lines; n += 1) {
      const contact = contactOf(n);
      chunk += format === 'csv' ? `${Object.values(contact).join(',')}\n` : `${JSON.stringify(contact)}\n`;
      if (chunk.length < 16_384) continue;
      yield chunk;
      chunk = '';
    }
    if (chunk !== '') yield chunk;
  }
  const start = performance.now();
  const post = request(`${origin}/v1/contact.import-contacts?organizationId=${organizationId}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
    },
  });
  const responding = once(post, 'response');
  await pipeline(Readable.from(text()), post);
  const [response] = await responding;
  let body = '';
  for await (const part of response.setEncoding('utf8')) body += part;
  const seconds = (performance.now() - start) / 1000;
  clearInterval(sampling);

  const at = (share) => samples[Math.ceil(samples.length * share) - 1];
  const kinds = { bad: 0, repeated: 0, new: 0 };
  for (let n = 0; n < lines; n += 1) kinds[kindOf(n)] += 1;
  const { data } = JSON.parse(body);
  const expected = {
    created: again ? 0 : kinds.new,
    updated: 0,
    unchanged: kinds.repeated + (again ? kinds.new : 0),
    failedCount: kinds.bad,
  };
  for (const [name, count] of Object.entries(expected)) {
    if (data?.[name] !== count) throw new Error(`${name} is not ${count} in: ${body.slice(0, 1_000)}`);
  }
  print(
    `${lines.toLocaleString('en')}${again ? ' again' : ''}`,
    `${seconds.toFixed(1)} s`,
    Math.round(lines / seconds).toLocaleString('en'),
    ...[before, ...[0.1, 0.5, 1].map(at), Math.max(...samples)].map((mib) => `${mib} MiB`),
  );
}

async function startServer(environment) {
  const child = spawn(process.execPath, [join(dist, 'src/main.js')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { message, port } = JSON.parse(line);
    if (message !== 'listening') continue;
    child.stdout.resume();
    return { child, pid: child.pid, origin: `http://127.0.0.1:${port}` };
  }
  throw new Error('The server ended before it listened.');
}

function createOrganization(environment) {
  const args = [join(dist, 'src/cli.js'), '--json', 'organization', 'create', '--name', 'Import'];
  return JSON.parse(execFileSync(process.execPath, args, { env: environment, encoding: 'utf8' }));
}

function residentMiB(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024);
}

function print(...cells) {
  const [lines, ...others] = cells.map(String);
  console.log(lines.padStart(13), ...others.map((cell) => cell.padStart(11)));
}
