/**
 * How long the verification of a history takes, and in how much memory: of an export, of an export by the second
 * verifier, and in the database. Each in a process of its own; one organization's events, a tenth with personal data.
 */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { migrate, openDatabase } from '../dist/libs/database/index.js';
import { EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { Sealer, Signer } from '../dist/libs/sealing/index.js';
import { migrations } from '../dist/migrations/index.js';
import { verifyDatabase, verifyFile } from '../dist/src/history/verify/index.js';
import { verifyHistory } from '../test/verifier.mjs';
import { withDatabase } from './database.mjs';

const HELP = `npm run bench -- verify [options]

  --events 1000000  events of the history`;

const EVENTS_A_COMMAND = 1_000;
const organizationId = randomUUID();
const metadata = { actor: { type: 'api-key', id: randomUUID() }, requestId: randomUUID() };
const data = {
  petitionId: randomUUID(),
  contactId: randomUUID(),
  source: 'https://example.org/petitions/save-the-river',
  comment: 'The river is where our children learned to swim.',
  newsletter: true,
};
const personal = { email: 'ada@example.org', firstName: 'Ada', lastName: 'Example', zip: '10115' };

export async function run(args) {
  const { values } = parseArgs({
    args,
    options: { events: { type: 'string', default: '1000000' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) return console.log(HELP);
  const events = Number(values.events);
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-verify-'));
  try {
    await withDatabase(async (url) => {
      const file = join(directory, 'history.ndjson');
      const checkpoint = join(directory, 'checkpoint');
      const key = await write(url, events, file, checkpoint);
      const size = ((await stat(file)).size / 1024 ** 2).toFixed(0);
      console.log(
        `${events.toLocaleString('en')} events, ${size} MiB exported; ${availableParallelism()} cores\n`,
      );
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

/** Appends and seals the history, and exports it. @returns the verifier key. */
async function write(url, events, file, checkpoint) {
  const source = await openDatabase({ url, poolSize: 4, migrations });
  try {
    await migrate(source);
    const store = new EventStore(source, new Keyring(randomBytes(32)));
    for (let written = 0; written < events; written += EVENTS_A_COMMAND) {
      const happened = Array.from({ length: Math.min(EVENTS_A_COMMAND, events - written) }, (_, n) =>
        n % 10 === 0
          ? { type: 'PetitionSigned', data, personal }
          : { type: 'PetitionSigned', data: { ...data, n } },
      );
      const streamId = randomUUID();
      const write = {
        streamType: 'signature',
        streamId,
        expectedVersion: 0,
        events: happened,
        subjectId: streamId,
      };
      const { status } = await store.append({ organizationId, metadata, writes: [write] });
      if (status !== 'appended') throw new Error(`The append ended as "${status}".`);
    }
    const sealer = new Sealer(source, console);
    await sealer.seal();
    const signer = Signer.derivedFrom(randomBytes(32));
    await writeFile(checkpoint, signer.signCheckpoint(await sealer.last(organizationId)));
    await pipeline(linesOf(source), createWriteStream(file));
    return signer.verifierKey;
  } finally {
    await source.destroy();
  }
}

async function* linesOf(source) {
  for (let previousPosition = 0; ;) {
    const rows = await source.query(
      'SELECT * FROM events WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT 1000',
      [organizationId, previousPosition],
    );
    if (rows.length === 0) return;
    let lines = '';
    for (const row of rows) {
      const position = Number(row.position);
      const line = {
        ...{
          position,
          previousPosition,
          organizationId,
          streamType: row.stream_type,
          streamId: row.stream_id,
        },
        ...{
          version: row.version,
          eventId: row.event_id,
          type: row.type,
          schema: row.schema,
          data: row.data,
        },
        ...{ personal: null, encryptedPersonal: row.personal?.toString('base64') ?? null },
        ...{ subjectId: row.subject_id, metadata: row.metadata, recordedAt: row.recorded_at.toISOString() },
        digest: row.digest.toString('hex'),
      };
      lines += `${JSON.stringify(line)}\n`;
      previousPosition = position;
    }
    yield lines;
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
