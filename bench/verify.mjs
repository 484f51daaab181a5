/**
 * Verifies a history, each time in a new process: an export, also with the second verifier, and the database. `its digests and tree` is the part of it that everyone must compute: canonical form, digests, leaves and root, without
 * reading the file and without the checks of spelling and order. Compared with `sha256sum` of the export, because each verification hashes most of its bytes once. All events belong to one
 * organization, and a tenth have personal data.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate, openDatabase } from '../dist/libs/database/index.js';
import { EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { digestOf, leafHash, toBase64, Tree, linesOf } from '../dist/libs/verify/index.js';
import { migrations } from '../dist/migrations/index.js';
import { verifyDatabase, verifyFile } from '../dist/src/audit/index.js';
import { verifyHistory } from '../test/verifier.mjs';
import { appendHistory, exportHistory, sealHistory } from './history.mjs';
import { cpuOfAll } from './processes.mjs';

export const options = {
  events: [1_000_000, 'events in the history'],
  rounds: [3, 'rounds per contender; the second verifier runs once'],
};

const organizationId = randomUUID();
const self = fileURLToPath(import.meta.url);

export async function run(bench) {
  const { events, rounds } = bench.options;
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-verify-'));
  try {
    await bench.withDatabase(async (url) => {
      const file = join(directory, 'history.ndjson');
      const checkpoint = join(directory, 'checkpoint');
      const key = await write(url, events, file, checkpoint);
      const size = ((await stat(file)).size / 1024 ** 2).toFixed(0);
      const verifies = (name, ...what) => ({
        name,
        async measure() {
          const { lines, figures } = await measure(
            process.execPath,
            [self, ...what, checkpoint, key],
            events,
          );
          const verdict = JSON.parse(lines[0]);
          if (!verdict.ok || verdict.provedEvents !== events) throw new Error(lines[0]);
          return { ...figures, 'memory MiB': Number(lines[1]) };
        },
      });
      const EXPORT = 'an export';
      const SUM = 'sha256sum of the export';
      const TREE = 'its digests and tree';
      const tree = async () => {
        const { lines } = await measure(process.execPath, [self, 'tree', file, checkpoint], events);
        return { 'events/s': (1_000_000 * events) / lines[0], 'CPU µs': lines[0] / events };
      };
      const title = `${events.toLocaleString('en')} events, ${size} MiB exported`;
      const contenders = [
        verifies(EXPORT, 'file', file),
        { name: TREE, measure: tree },
        { name: SUM, measure: () => sum(file, events) },
        verifies('the database', 'database', url, organizationId),
      ];
      const result = await bench.measure(title, contenders, rounds);
      await bench.measure(title, [verifies('an export, second verifier', 'second', file)], 1);
      const perCore = (name) => result.values(name, 'CPU µs').map((time) => 1_000_000 / time);
      bench.target('events/s of digests and tree per core', perCore(TREE), { least: 100_000 });
      bench.target('events/s of an export per core', perCore(EXPORT), { least: 100_000 });
      bench.target('… ÷ sha256sum', result.ratio(EXPORT, SUM, 'events/s'));
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

/** Recomputes the root of an export. @returns the CPU time in µs, without reading and parsing. */
async function recompute(file, checkpoint) {
  const tree = new Tree();
  let cpu = 0;
  for await (const lines of linesOf(createReadStream(file, { highWaterMark: 2 ** 20 }))) {
    const events = lines.map((line) => JSON.parse(line));
    const before = process.cpuUsage();
    for (const event of events) {
      const { data, eventId, metadata, organizationId, encryptedPersonal: personal } = event;
      const { schema, streamId, streamType, subjectId, type, version } = event;
      const names = { schema, streamId, streamType, subjectId, type, version };
      const content = { data, eventId, metadata, organizationId, personal, ...names };
      tree.append(leafHash(event.position, digestOf(content, Date.parse(event.recordedAt))));
    }
    const { user, system } = process.cpuUsage(before);
    cpu += user + system;
  }
  const [, size, root] = (await readFile(checkpoint, 'utf8')).split('\n');
  if (tree.size !== Number(size) || toBase64(tree.root()) !== root) throw new Error('another root');
  return cpu;
}

/** Measures `sha256sum`. NaN if it is not installed. */
async function sum(file, events) {
  try {
    const { figures } = await measure('sha256sum', [file], events);
    return figures;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { 'events/s': NaN, 'CPU µs': NaN };
  }
}

/** Runs a program. @returns its output lines, and its figures per event */
async function measure(program, args, events) {
  const [begin, cpu] = [performance.now(), cpuOfAll(process.pid)];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  await once(child, 'close');
  const seconds = (performance.now() - begin) / 1000;
  // Includes the CPU time of ended children. This process itself only waits.
  const figures = {
    'events/s': events / seconds,
    'CPU µs': (cpuOfAll(process.pid) - cpu) / events,
  };
  return { lines: output.trim().split('\n'), figures };
}

if (process.argv[1] === self) {
  const [what, ...args] = process.argv.slice(2);
  const note = (file) => readFile(file, 'utf8');
  const verify = {
    file: async (file, checkpoint, key) => verifyFile(file, await note(checkpoint), key),
    second: async (file, checkpoint, key) => verifyHistory(file, await note(checkpoint), key),
    tree: recompute,
    async database(url, id, checkpoint, key) {
      const source = await openDatabase({ url, poolSize: 1, migrations });
      const verdict = await verifyDatabase(source, id, await note(checkpoint), key);
      await source.destroy();
      return verdict;
    },
  };
  console.log(JSON.stringify(await verify[what](...args)));
  console.log(process.resourceUsage().maxRSS / 1024);
}
