import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { describeError } from '#libs/database';
import { type StreamedAnswer } from '#libs/rpc';
import { REGISTER } from '#libs/sealing';
import { ExportEvents, parseExported } from '../history/index.js';
import { Progress } from './progress.js';
import { INTERRUPTED, interruptible, print, type Session, UsageError } from './session.js';

/** The last line of an export is shorter than this: content is at most 256 KiB, encoded twice. */
const LONGEST_LINE = 4 * 1024 * 1024;

/** The start of every line of an export. */
const LINE_BEGINS = '{"position":';

/** Exports an organization's history to standard output, or to a file. An existing file is continued. */
export async function exportHistory(
  session: Session,
  { organization, out }: { organization: string; out?: string },
): Promise<{ events: number } | undefined> {
  if (organization !== REGISTER) await session.requireOrganization(organization);
  const after = out === undefined ? 0 : await continueAfter(out, organization);
  const interruption = interruptible();
  let state = { count: 0, done: 0, total: 1 };
  const onProgress = (count: number, position: number, upTo: number) =>
    (state = { count, done: position - after, total: Math.max(upTo - after, 1) });
  const query = session.input(ExportEvents, organization, { after, onProgress });
  const { chunks } = await session.run<StreamedAnswer>(query);
  const progress = new Progress('events', () => state);
  try {
    if (out === undefined) await print(chunks, interruption);
    else {
      const file = await open(out, 'a', 0o600);
      await pipeline(chunks, file.createWriteStream({ flush: true }), { signal: interruption });
    }
  } catch (error) {
    if (!interruption.aborted) throw error;
    process.exitCode = INTERRUPTED;
    const again = out === undefined ? 'To start again' : 'To resume';
    process.stderr.write(`Stopped before the end. ${again}, run the same command.\n`);
  } finally {
    progress.stop();
  }
  return out === undefined ? undefined : { events: state.count };
}

/** The last position in an export, which may have been interrupted in the middle of a line. */
async function continueAfter(file: string, organizationId: string): Promise<number> {
  const handle = await open(file, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`Cannot write the file: ${describeError(error)}.`);
  });
  if (!handle) return 0;
  try {
    const { size } = await handle.stat();
    const start = Math.max(0, size - LONGEST_LINE);
    const { buffer } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
    const end = buffer.lastIndexOf('\n') + 1;
    const last = buffer.subarray(0, end).toString('utf8').trimEnd().split('\n').at(-1)!;
    const event = last === '' ? undefined : parseExported(last);
    const torn = buffer.subarray(end, end + LINE_BEGINS.length).toString('utf8');
    // Checked before truncating, because someone may have named another file by mistake.
    const isOurs = event ? event.organizationId === organizationId : last === '' && start + end === 0;
    if (!isOurs || !LINE_BEGINS.startsWith(torn)) {
      throw new UsageError(
        'The file is not an export of the history of this organization. Choose another file.',
      );
    }
    await handle.truncate(start + end);
    return event?.position ?? 0;
  } finally {
    await handle.close();
  }
}
