import { type Command, Option } from 'commander';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describeError } from '#libs/database';
import { type StreamedAnswer } from '#libs/rpc';
import { type ImportAnswer } from '../contacts/index.js';
import { Progress } from './progress.js';
import { INTERRUPTED, interruptible, path, print, type Session, UsageError, withSession } from './session.js';

const MEDIA_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' };
type Format = keyof typeof MEDIA_TYPES;

type ImportOptions = {
  organization: string;
  list?: string;
  onConflict: 'fail' | 'update';
  subscribed?: 'yes' | 'no';
  unknown: 'refuse' | 'ignore';
  format?: Format;
};
type ExportOptions = { organization: string; out?: string; format?: Format };

export function contactsCommands(program: Command): void {
  const contacts = program.command('contacts').description('import and export contacts');
  const format = (description: string) =>
    new Option('--format <format>', description).choices(Object.keys(MEDIA_TYPES));

  contacts
    .command('import')
    .description('import a file with one contact per line: NDJSON, or CSV whose first line names the columns')
    .argument('<file>', 'the file, or - for standard input', path)
    .requiredOption('--organization <id>', 'the organization it is imported into')
    .option('--list <id>', 'a list to which all contacts of the file are added')
    .addOption(
      new Option('--on-conflict <what>', 'what becomes of a contact that has other details than its line')
        .choices(['fail', 'update'])
        .default('fail'),
    )
    .addOption(
      new Option(
        '--subscribed <answer>',
        'whether people have agreed to get email if their line does not state it; required unless a column states it',
      ).choices(['yes', 'no']),
    )
    .addOption(
      new Option(
        '--unknown <what>',
        'whether a table with columns that are not recognised is refused or imported without them',
      )
        .choices(['refuse', 'ignore'])
        .default('refuse'),
    )
    .addOption(format("how it is written; default: by the file's ending"))
    .addHelpText(
      'after',
      `
Prints { "created", "updated", "unchanged", "failed": [{ "line", "message" }, the first 100], "failedCount" }.
The status is 0 when the file was read to its end, also when lines failed: look at "failedCount".
Ctrl-C stops after the lines under way (status ${INTERRUPTED}); the same command goes on where it stopped.`,
    )
    .action((file: string, options: ImportOptions) =>
      withSession(program, (session) => importFile(session, file, options)),
    );

  contacts
    .command('export')
    .description('export all contacts of an organization, oldest first, in a form that import takes')
    .requiredOption('--organization <id>', 'the organization whose contacts they are')
    .option('--out <file>', 'where to write them, whole or not at all; default: standard output', path)
    .addOption(format("how to write them; default: by the file's ending, ndjson on standard output"))
    .addHelpText('after', '\nPrints { "contacts" }, how many there are, where the contacts go into a file.')
    .action((options: ExportOptions) => withSession(program, (session) => exportTo(session, options)));
}

async function importFile(session: Session, file: string, options: ImportOptions): Promise<ImportAnswer> {
  const { organization: organizationId, list: listId, onConflict, subscribed, unknown } = options;
  const mediaType = MEDIA_TYPES[options.format ?? formatOf(file)];
  await session.requireOrganization(organizationId);
  const { stream, size } = await openInput(file);

  const interruption = interruptible();
  let read = 0;
  async function* bytes() {
    for await (const chunk of addAbortSignal(interruption, stream) as AsyncIterable<Buffer>) {
      read += chunk.length;
      yield chunk;
    }
  }
  let soFar: ImportAnswer = { created: 0, updated: 0, unchanged: 0, failed: [], failedCount: 0 };
  const linesOf = (answer: ImportAnswer) =>
    answer.created + answer.updated + answer.unchanged + answer.failedCount;
  const progress = new Progress('lines', () => ({ count: linesOf(soFar), done: read, total: size }));
  const { ImportContacts } = await import('../contacts/index.js');
  const command = session.input(ImportContacts, organizationId, {
    mediaType,
    bytes: bytes(),
    onConflict,
    unknown,
    ...(subscribed && { subscribed: subscribed === 'yes' }),
    onProgress: (answer) => (soFar = answer),
    ...(listId === undefined ? {} : { listId }),
  });
  try {
    return await session.run<ImportAnswer>(command);
  } catch (error) {
    if (!interruption.aborted) throw inOptions(error);
    process.exitCode = INTERRUPTED;
    const count = linesOf(soFar).toLocaleString('en');
    process.stderr.write(`Stopped after ${count} lines: the same command goes on where it stopped.\n`);
    return soFar;
  } finally {
    progress.stop();
    stream.destroy();
  }
}

/** The API names parameters of its query where the command line has options. */
function inOptions(error: unknown): unknown {
  // By its code: the class would load what a mistake at the keyboard has no need of.
  if (!(error instanceof Error && 'code' in error && error.code === 'BAD_REQUEST')) return error;
  const message = error.message
    .replace('send unknown=ignore', 'add --unknown ignore')
    .replace('Send subscribed=true', 'Add --subscribed yes')
    .replace('subscribed=false if', '--subscribed no if');
  return new UsageError(message);
}

async function exportTo(
  session: Session,
  { organization, out, format }: ExportOptions,
): Promise<{ contacts: number } | undefined> {
  const written = format ?? (out === undefined ? 'ndjson' : formatOf(out));
  await session.requireOrganization(organization);
  const interruption = interruptible();
  let contacts = 0;
  const { ExportContacts } = await import('../contacts/index.js');
  const query = session.input(ExportContacts, organization, {
    format: written,
    onProgress: (soFar) => (contacts = soFar),
  });
  const { chunks } = await session.ask<StreamedAnswer>(query);
  const progress = new Progress('contacts', () => ({ count: contacts }));
  try {
    if (out !== undefined) await writeWhole(out, chunks, interruption);
    else await print(chunks, interruption);
  } catch (error) {
    if (interruption.aborted) {
      process.exitCode = INTERRUPTED;
      process.stderr.write('Stopped before the end: the same command begins anew.\n');
      return undefined;
    }
    throw error;
  } finally {
    progress.stop();
  }
  return out === undefined ? undefined : { contacts };
}

function formatOf(file: string): Format {
  if (/\.(csv|tsv)$/i.test(file)) return 'csv';
  if (/\.(ndjson|jsonl)$/i.test(file)) return 'ndjson';
  throw new UsageError('Say with --format whether it is ndjson or csv: the name does not end in either.');
}

async function openInput(file: string): Promise<{ stream: Readable; size?: number }> {
  if (file === '-') return { stream: process.stdin };
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error('it is a directory');
    const handle = await open(file);
    const stream = createReadStream('', { fd: handle });
    // Of a pipe nobody knows.
    return found.isFile() ? { stream, size: found.size } : { stream };
  } catch (error) {
    throw new UsageError(`The file cannot be read: ${describeError(error)}.`);
  }
}

/** Under another name until it is whole; readable by its owner alone, because it holds personal data. */
async function writeWhole(
  file: string,
  chunks: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const draft = `${file}.${process.pid}.part`;
  const handle = await open(draft, 'wx', 0o600).catch((error: unknown) => {
    throw new UsageError(`The file cannot be written: ${describeError(error)}.`);
  });
  try {
    await pipeline(chunks, handle.createWriteStream({ flush: true }), { signal });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
