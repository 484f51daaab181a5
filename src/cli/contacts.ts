import { type Command, Option } from 'commander';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describeError } from '#libs/database';
import { newId } from '#libs/random';
import { type StreamedAnswer } from '#libs/rpc';
import { type ImportAnswer } from '../contacts/index.js';
import { Progress } from './progress.js';
import { INTERRUPTED, interruptible, path, print, type Session, UsageError, withSession } from './session.js';

const MEDIA_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' };
type Format = keyof typeof MEDIA_TYPES;

type ImportOptions = {
  organization: string;
  list?: string;
  petition?: string;
  onConflict?: 'fail' | 'update' | 'keep';
  subscribed?: 'yes' | 'no';
  unknown: 'refuse' | 'ignore';
  map?: string;
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
    .requiredOption('--organization <id>', 'the organization')
    .option('--list <id>', 'add all contacts of the file to this list')
    .option(
      '--petition <id>',
      'import the signatures of this petition; lines may have the columns signedAt, comment and source',
    )
    .addOption(
      new Option(
        '--on-conflict <what>',
        'what to do if a contact exists with other details (default: fail; with --petition: keep them and sign)',
      ).choices(['fail', 'update', 'keep']),
    )
    .addOption(
      new Option(
        '--subscribed <answer>',
        'whether people agreed to receive email, for lines that do not state it; required unless a column states it',
      ).choices(['yes', 'no']),
    )
    .addOption(
      new Option('--unknown <what>', 'reject a file with unknown columns, or ignore these columns')
        .choices(['refuse', 'ignore'])
        .default('refuse'),
    )
    .option(
      '--map <json>',
      'how columns are used, such as \'{"Mail":"email","Keine Post":"optOut","Shoe size":"ignore"}\'',
    )
    .addOption(format("the format (default: from the file's extension)"))
    .addHelpText(
      'after',
      `
Prints { "created", "updated", "unchanged", "failed": [{ "line", "message" }, the first 100], "failedCount" }, and
with --petition also "signed", the number of signatures added.
The status is 0 if the whole file was read, even if lines failed. Check "failedCount".
Ctrl-C stops after the lines in progress (status ${INTERRUPTED}). To resume, run the same command.`,
    )
    .action((file: string, options: ImportOptions) =>
      withSession(program, (session) => importFile(session, file, options)),
    );

  contacts
    .command('export')
    .description('export all contacts of an organization, oldest first, in a format that import accepts')
    .requiredOption('--organization <id>', 'the organization')
    .option(
      '--out <file>',
      'the output file, written completely or not at all (default: standard output)',
      path,
    )
    .addOption(format("the format (default: from the file's extension; ndjson on standard output)"))
    .addHelpText('after', '\nWith --out, prints { "contacts" }, the number of contacts.')
    .action((options: ExportOptions) => withSession(program, (session) => exportTo(session, options)));
}

async function importFile(session: Session, file: string, options: ImportOptions): Promise<ImportAnswer> {
  const {
    organization: organizationId,
    list: listId,
    petition: petitionId,
    subscribed,
    unknown,
    map,
  } = options;
  const { onConflict = petitionId === undefined ? 'fail' : 'keep' } = options;
  const keepsDetails = onConflict === 'keep';
  if (keepsDetails && petitionId === undefined)
    throw new UsageError('--on-conflict keep requires --petition. Otherwise, use fail or update.');
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
    onConflict: keepsDetails ? 'fail' : onConflict,
    unknown,
    ...(map !== undefined && { map }),
    ...(subscribed && { subscribed: subscribed === 'yes' }),
    onProgress: (answer) => (soFar = answer),
    ...(listId === undefined ? {} : { listId }),
    ...(petitionId !== undefined && { signing: { petitionId, keepsDetails, signatureIdOf: () => newId() } }),
  });
  try {
    return await session.run<ImportAnswer>(command);
  } catch (error) {
    if (!interruption.aborted) throw inOptions(error);
    process.exitCode = INTERRUPTED;
    const count = linesOf(soFar).toLocaleString('en');
    process.stderr.write(`Stopped after ${count} lines. To resume, run the same command.\n`);
    return soFar;
  } finally {
    progress.stop();
    stream.destroy();
  }
}

/** Replaces the API's query parameters in an error message with the command's options. */
function inOptions(error: unknown): unknown {
  // Checks the code and not the class, because importing the class would load modules that a usage error does not need.
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
  const { chunks } = await session.run<StreamedAnswer>(query);
  const progress = new Progress('contacts', () => ({ count: contacts }));
  try {
    if (out !== undefined) await writeWhole(out, chunks, interruption);
    else await print(chunks, interruption);
  } catch (error) {
    if (interruption.aborted) {
      process.exitCode = INTERRUPTED;
      process.stderr.write('Stopped before the end. To start again, run the same command.\n');
      return undefined;
    }
    throw error;
  } finally {
    progress.stop();
  }
  return out === undefined ? undefined : { contacts };
}

function formatOf(file: string): Format {
  if (/\.(csv|tsv|txt)$/i.test(file)) return 'csv';
  if (/\.(ndjson|jsonl)$/i.test(file)) return 'ndjson';
  throw new UsageError('Add --format ndjson or --format csv. The file extension does not show the format.');
}

async function openInput(file: string): Promise<{ stream: Readable; size?: number }> {
  if (file === '-') return { stream: process.stdin };
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error('it is a directory');
    const handle = await open(file);
    const stream = createReadStream('', { fd: handle });
    // The size of a pipe is unknown.
    return found.isFile() ? { stream, size: found.size } : { stream };
  } catch (error) {
    throw new UsageError(`Cannot read the file: ${describeError(error)}.`);
  }
}

/** Writes to a temporary file until it is complete. Only its owner can read it, because it contains personal data. */
async function writeWhole(
  file: string,
  chunks: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const draft = `${file}.${process.pid}.part`;
  const handle = await open(draft, 'wx', 0o600).catch((error: unknown) => {
    throw new UsageError(`Cannot write the file: ${describeError(error)}.`);
  });
  try {
    await pipeline(chunks, handle.createWriteStream({ flush: true }), { signal });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
