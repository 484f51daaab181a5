import { type Command, InvalidArgumentError } from 'commander';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describeError, openDatabase, type Sql } from '#libs/database';
import {
  ALL,
  countStatement,
  type CountVerdict,
  eventStatement,
  type EventVerdict,
  inWords,
  printable,
  signedBy,
  statement,
  type Verdict,
  verifyCount,
  verifyEvent,
} from '#libs/verify';
import {
  type AllVerdict,
  chunksOf,
  compareImageFiles,
  imageEventsOfDatabase,
  imageEventsOfFile,
  type ImageFilesVerdict,
  verifyAll,
  verifyDatabase,
  verifyFile,
} from '../audit/index.js';
import { keyOf } from './outside.js';
import { Progress } from './progress.js';
import { INTERRUPTED, interruptible, path, readCheckpoint } from './session.js';

type ImageEvents = Parameters<typeof compareImageFiles>[0];

type VerifyOptions = {
  organization?: string;
  checkpoint: string;
  key: string;
  parts?: string;
  proof?: string;
  register?: string;
  images?: string;
  witness?: string[];
  quorum?: number;
};

export function verifyCommand(history: Command): void {
  const verify = history
    .command('verify')
    .description(
      'compare the history with a kept checkpoint: was anything before it changed, removed or inserted since?',
    )
    .argument('[file]', 'an export of the whole history', path)
    .option(
      '--organization <id>',
      'verify the history in the database instead of a file; all verifies that no organization is missing',
    )
    .requiredOption(
      '--checkpoint <file>',
      'a file written by history checkpoint, or the checkpoint field of history.get-checkpoint',
      path,
    )
    .requiredOption('--key <key>', 'the verifier key of the server, or a file that contains it')
    .option(
      '--parts <file>',
      'parts of the checkpoint, which locate a difference (default: <checkpoint>.parts, if it exists)',
      path,
    )
    .option(
      '--proof <file>',
      'proof that the checkpoint is in the log of all organizations (default: <checkpoint>.tlog-proof, if it exists)',
      path,
    )
    .option(
      '--register <file>',
      'an export of the register, with its checkpoint in <file>.checkpoint: it must contain no other history of the organization',
      path,
    )
    .option(
      '--images <place>',
      'also compare the files of images with the history: the folder images of DATA_DIR, a copy of the bucket, or the address of the published files, such as https://act.example.org/images',
      (place) => (/^https?:/.test(place) ? place : path(place)),
    )
    .option(
      '--witness <key...>',
      'verifier keys of witnesses, or files that contain one; all must have cosigned the checkpoint',
    )
    .option('--quorum <n>', 'this many of the witnesses are enough', wholeNumber)
    .addHelpText(
      'after',
      `
Prints the first position at which the history differs from the checkpoint, and on standard error a statement that you can quote.
With --json, prints { "ok", "events", "provedEvents", "newerEvents", "firstWrongPosition", "reason", "unprovedPersonal",
"warnings", "warningCount", "checkpoint": { "organizationId", "size", "position", "sealedAt", "key", "givenKey", "witnesses",
"inAll", "register" }, "images" }. docs/spec/history-format.md explains them. You can use a previous key if its replacement was recorded (history key rotate).

Without --images, no image file is read, and "images" is null. Otherwise it is { "images", "files", "withoutDigests", "wrong":
[{ "imageId", "file", "isMissing" }, 100 at most], "wrongCount" }. Only images that the checkpoint covers are compared.

With --organization all, use a checkpoint of the log of all organizations. Each organization in it must have the history that the
log records. --json prints { "ok", "leaves", "organizations", "reason", "wrong": [{ "organizationId", "reason" }, 100 at most],
"wrongCount", "checkpoint" }. If the log itself differs, the organizations in <checkpoint>.organizations are checked instead.

Exits with status 0 if the history matches the checkpoint, and with 1 if it or an image file differs, or nothing could be verified. Verifying a file needs no
database and no server. It takes a few hundred megabytes of memory, plus about 200 bytes per stream.`,
    )
    .action(async (file: string | undefined, options: VerifyOptions) => {
      const { organization } = options;
      if ((file === undefined) === (organization === undefined)) {
        verify.error('error: use either the file of an export or --organization');
      }
      if (options.quorum !== undefined && !(options.quorum <= (options.witness?.length ?? 0))) {
        verify.error('error: --quorum must not exceed the number of keys in --witness');
      }
      const ofOne = (['images', 'parts', 'proof', 'register'] as const).find(
        (name) => options[name] !== undefined,
      );
      if (organization === ALL.name && ofOne) {
        verify.error(`error: --${ofOne} is for one organization: leave it out, or replace all by an id`);
      }
      const signal = interruptible();
      let state = { count: 0, done: 0, total: 1 };
      const onProgress = ({ events, share }: { events: number; share: number }) =>
        (state = { count: events, done: share, total: 1 });
      const progress = new Progress('events', () => state, true);
      try {
        const checkpoint = await readCheckpoint(options.checkpoint);
        const key = await keyOf(options.key);
        const parts = await readNextTo(options.checkpoint, '.parts', options.parts);
        const proof = await readNextTo(options.checkpoint, '.tlog-proof', options.proof);
        const witnesses = await Promise.all((options.witness ?? []).map(keyOf));
        const register =
          options.register === undefined
            ? undefined
            : {
                chunks: () => chunksOf(options.register!),
                checkpoint: await readCheckpoint(`${options.register}.checkpoint`),
              };
        const how = { signal, onProgress, parts, proof, register, witnesses, quorum: options.quorum };
        const json = verify.optsWithGlobals<{ json?: true }>().json === true;
        const say = (verdict: { ok: boolean; images?: object | null }, words: string, sentence: string) => {
          progress.stop();
          process.stdout.write(json ? `${JSON.stringify(verdict)}\n` : words);
          process.stderr.write(`${sentence}\n`);
          process.exitCode = verdict.ok ? 0 : 1;
        };
        if (organization === ALL.name) {
          const organizations = await readNextTo(options.checkpoint, '.organizations');
          const verdict = await withDatabase((sql) =>
            verifyAll(sql, checkpoint, key, { ...how, organizations }),
          );
          say(verdict, allInWords(verdict), allStatement(verdict));
          return;
        }
        const compareImages = (verdict: Verdict, events: (upTo: number) => ImageEvents) =>
          // Digests in a history that does not match prove nothing.
          verdict.ok && verdict.checkpoint && options.images !== undefined
            ? compareImageFiles(events(verdict.checkpoint.position), options.images, signal)
            : null;
        const ofDatabase = async (sql: Sql) => {
          const verdict = await verifyDatabase(sql, organization!, checkpoint, key, how);
          const events = (upTo: number) => imageEventsOfDatabase(sql, organization!, upTo);
          return { verdict, images: await compareImages(verdict, events) };
        };
        const ofFile = async () => {
          const verdict = await verifyFile(file!, checkpoint, key, how);
          return { verdict, images: await compareImages(verdict, (upTo) => imageEventsOfFile(file!, upTo)) };
        };
        const what = file === undefined ? 'The database' : 'This file';
        const { verdict, images } = await (file === undefined ? withDatabase(ofDatabase) : ofFile());
        const ok = verdict.ok && !images?.wrongCount;
        const words = verdict.ok ? imagesInWords(images) : [];
        say(
          { ...verdict, ok, images },
          inWords(verdict, what) + words.map((line) => `${line}\n`).join(''),
          [statement(verdict, what), ...words.slice(0, 1)].join(' '),
        );
      } catch (error) {
        progress.stop();
        const said = signal.aborted ? 'Interrupted. Nothing was verified.' : describeError(error);
        process.stderr.write(`${said}\n`);
        process.exitCode = signal.aborted ? INTERRUPTED : 1;
      }
    });
}

export function verifyCountCommand(history: Command): void {
  verifiesFile<CountVerdict>(history.command('verify-count'), {
    description: 'verify the certificate of a petition’s number of signatures',
    file: 'a certificate, which petition.get-count-certificate returned',
    members:
      '"ok", "organizationId", "petitionId", "count": { "signatures",\n"withdrawn", "invalidated" }, "reason", "checkpoint"',
    subject: 'certificate',
    verify: (file, key) => verifyCount(createReadStream(file), key),
    statement: countStatement,
  });
}

export function verifyEventCommand(history: Command): void {
  verifiesFile<EventVerdict>(history.command('verify-event'), {
    description: 'verify the proof that an event is in the history',
    file: 'the response of history.get-proof',
    members:
      '"ok", "event": { "organizationId", "eventId", "type",\n"position", "recordedAt" }, "reason", "checkpoint"',
    subject: 'proof',
    verify: async (file, key) => verifyEvent(await readFile(file, 'utf8'), key),
    statement: eventStatement,
  });
}

/** Lets a command verify one file with the key of the server. */
function verifiesFile<Verdict extends { ok: boolean }>(
  command: Command,
  how: {
    description: string;
    file: string;
    /** The members of the verdict as JSON. */
    members: string;
    subject: string;
    verify: (file: string, key: string) => Promise<Verdict>;
    statement: (verdict: Verdict) => string;
  },
): void {
  command
    .description(how.description)
    .argument('<file>', how.file, path)
    .requiredOption('--key <key>', 'the verifier key of the server, or a file that contains it')
    .addHelpText(
      'after',
      `
Prints a statement that you can quote. With --json, prints { ${how.members} }.
Exits with status 0 if the ${how.subject} is authentic, and with 1 otherwise. Needs no database and no server.`,
    );
  command.action(async (file: string, options: { key: string }) => {
    try {
      const verdict = await how.verify(file, await keyOf(options.key));
      const json = command.optsWithGlobals<{ json?: true }>().json === true;
      process.stdout.write(`${json ? JSON.stringify(verdict) : how.statement(verdict)}\n`);
      process.exitCode = verdict.ok ? 0 : 1;
    } catch (error) {
      process.stderr.write(`${describeError(error)}\n`);
      process.exitCode = 1;
    }
  });
}

/** Opens only a connection if DATABASE_URL is set, so that the verification does not run the code that it verifies. */
async function withDatabase<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const { loadConfig } = await import('../config/index.js');
  const config = loadConfig();
  if (config.databaseUrl !== undefined) {
    const source = await openDatabase({ url: config.databaseUrl, poolSize: 2, migrations: [] });
    try {
      return await work(source);
    } finally {
      await source.destroy();
    }
  }
  const { requireDatabase } = await import('./open-session.js');
  requireDatabase(config);
  const { JsonLogger } = await import('#libs/operations');
  const { openRuntime } = await import('../server/index.js');
  const runtime = await openRuntime(config, new JsonLogger('silent'));
  try {
    return await work(runtime.source);
  } finally {
    await runtime.close();
  }
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('Enter a whole number, 1 or more.');
  return Number(text);
}

/** Reads the file next to the checkpoint, or the named one. Undefined if there is no file next to it. */
async function readNextTo(checkpoint: string, ending: string, named?: string): Promise<string | undefined> {
  return readFile(named ?? checkpoint + ending, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (named === undefined && error.code === 'ENOENT') return undefined;
    throw error;
  });
}

const count = (number: number) => number.toLocaleString('en');

/** What was found about the files of images. The first line can be quoted. */
function imagesInWords(images: ImageFilesVerdict | null): string[] {
  if (!images) return ['Image files were not read. To compare them with the history, add --images.'];
  const { files, withoutDigests, wrong, wrongCount } = images;
  const compared = `Of ${count(files)} image files that the history records, `;
  const lines = [
    wrongCount === 0
      ? `${compared}all have the recorded bytes.`
      : `${compared}${count(wrongCount)} ${wrongCount === 1 ? 'is' : 'are'} missing or ${wrongCount === 1 ? 'has' : 'have'} other bytes.`,
    ...wrong.map(
      ({ imageId, file, isMissing }) =>
        `Image ${imageId}: ${printable(file)} ${isMissing ? 'is missing' : 'has other bytes'}.`,
    ),
  ];
  if (wrongCount > wrong.length) lines.push(`${count(wrongCount - wrong.length)} more files are not shown.`);
  if (withoutDigests > 0)
    lines.push(
      `Nothing proves the files of ${count(withoutDigests)} further images: versions before 0.9.0 recorded no digests.`,
    );
  return lines;
}

function allInWords({ ok, leaves, organizations, reason, wrong, wrongCount }: AllVerdict): string {
  const lines = ok
    ? [
        `No organization is missing. Organizations: ${count(organizations)}. Checkpoints that match: ${count(leaves)}.`,
      ]
    : ['The database differs from what was signed for all organizations.'];
  if (reason !== null) lines.push(reason);
  lines.push(...wrong.map((one) => `Organization ${one.organizationId}: ${one.reason}`));
  const others = wrongCount - wrong.length;
  if (others > 0) lines.push(`${count(others)} more organizations are not shown.`);
  return lines.map((line) => `${line}\n`).join('');
}

function allStatement({ ok, checkpoint, organizations, reason, wrong, wrongCount }: AllVerdict): string {
  if (!checkpoint) return `Nothing was compared: ${reason}`;
  const note = `the log of ${count(checkpoint.size)} checkpoints of all organizations, ${signedBy(checkpoint)}`;
  if (ok)
    return `Every organization in ${note}, exists and matches its checkpoints (${count(organizations)} in total).`;
  const [first] = wrong;
  const named = first
    ? ` Organization ${first.organizationId}${wrongCount > 1 ? `, the first of ${count(wrongCount)}` : ''}: ${first.reason}`
    : '';
  return `The organizations in the database do not match ${note}:${reason === null ? '' : ` ${reason}`}${named}`;
}
