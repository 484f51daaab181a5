/**
 * How long the verification of a history takes, and in how much memory: of an export, of an export by the second
 * verifier, and in the database. Each in a process of its own; one organization's events, a tenth with personal data.
 */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate, openDatabase } from '../dist/libs/database/index.js';
import { EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { migrations } from '../dist/migrations/index.js';
import { verifyDatabase, verifyFile } from '../dist/src/history/verify/index.js';
import { verifyHistory } from '../test/verifier.mjs';
import { appendHistory, exportHistory, sealHistory } from './history.mjs';

export const options = { events: [1_000_000, 'of the history'] };

const organizationId = randomUUID();

export async function run(bench) {
  const { events } = bench.options;
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-verify-'));
  try {
    await bench.withDatabase(async (url) => {
      const file = join(directory, 'history.ndjson');
      const checkpoint = join(directory, 'checkpoint');
      const key = await write(url, events, file, checkpoint);
      const size = ((await stat(file)).size / 1024 ** 2).toFixed(0);
      console.log(`${events.toLocaleString('en')} events, ${size} MiB exported\n`);
      print('', 'seconds', 'events/s', 'memory MiB');
      for (const [name, ...what] of [
        ['export', 'file', file],
        ['export, second verifier', 'second', file],
        ['database', 'database', url, organizationId],
      ]) {
        const { verdict, seconds, memory } = await measure([...what, checkpoint, key]);
        if (!verdict.ok || verdict.provedEvents !== events) throw new Error(JSON.stringify(verdict));
        print(name, seconds.toFixed(1), Math.round(events / seconds).toLocaleString('en'), memory.toFixed(0));
      }
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Appends, seals and exports the history. @returns the verifier key. */
async function write(url, events, file, checkpoint) {
  const source = await openDatabase({ url, poolSize: 4, migrations });
  try {
    await migrate(source);
    const store = new EventStore(source, new Keyring(randomBytes(32)));
    await appendHistory(source, store, organizationId, events);
    const sealed = await sealHistory(source, organizationId);
    await writeFile(checkpoint, sealed.checkpoint);
    await exportHistory(store, organizationId, file);
    return sealed.key;
  } finally {
    await source.destroy();
  }
}

/** Verifies in a process of its own. */
function measure(args) {
  return new Promise((resolve, reject) => {
    const self = fileURLToPath(import.meta.url);
    const child = spawn(process.execPath, [self, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', () => {
      const [verdict, figures] = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      resolve({ verdict, ...figures });
    });
  });
}

function print(name, ...numbers) {
  console.log(name.padEnd(24), ...numbers.map((number) => String(number).padStart(12)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [what, ...args] = process.argv.slice(2);
  const begin = performance.now();
  process.once('exit', () => {
    const seconds = (performance.now() - begin) / 1000;
    console.log(JSON.stringify({ seconds, memory: process.resourceUsage().maxRSS / 1024 }));
  });
  const note = (file) => readFile(file, 'utf8');
  if (what === 'file') {
    const [file, checkpoint, key] = args;
    console.log(JSON.stringify(await verifyFile(file, await note(checkpoint), key)));
  } else if (what === 'database') {
    const [url, id, checkpoint, key] = args;
    const source = await openDatabase({ url, poolSize: 1, migrations });
    console.log(JSON.stringify(await verifyDatabase(source, id, await note(checkpoint), key)));
    await source.destroy();
  } else {
    const [file, checkpoint, key] = args;
    console.log(JSON.stringify(await verifyHistory(file, await note(checkpoint), key)));
  }
}
