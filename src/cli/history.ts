import { type Command } from 'commander';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { describeError } from '#libs/database';
import { readSchema, type RecordedEvent } from '#libs/event-store';
import { replay } from '#libs/projections';
import { storedRequestId, type StreamedAnswer } from '#libs/rpc';
import { ALL_ORGANIZATIONS, type SignedTree, writeProof } from '#libs/sealing';
import { replayables, upcasters } from '../app.module.js';
import { ExportEvents, inNewestShape, parseExported } from '../history/index.js';
import { programVersion } from '../version.js';
import { Progress } from './progress.js';
import {
  input,
  INTERRUPTED,
  interruptible,
  path,
  print,
  type Session,
  UsageError,
  withSession,
} from './session.js';
import { anchorCommand } from './anchor.js';
import { consistencyCommand } from './consistency.js';
import { monitorCommand } from './monitor.js';
import { rotateKey } from './rotate-key.js';
import { verifyCommand } from './verify.js';

/** The last line of an export lies within so many bytes of its end: content is 256 KiB at most, encoded twice. */
const LONGEST_LINE = 4 * 1024 * 1024;

/** Of what may be anything. */
const LONGEST_TYPE = 100;

/** How every line of an export begins. */
const LINE_BEGINS = '{"position":';

export function historyCommands(program: Command): void {
  const history = program.command('history').description('export, seal, verify and replay the history');
  history
    .command('export')
    .description('write the history of an organization, one event a line')
    .requiredOption('--organization <id>', 'the organization')
    .option(
      '--out <file>',
      'where to; a file that is there already is continued; default: standard output',
      path,
    )
    .addHelpText(
      'after',
      '\nWhere it goes into a file, prints { "events" }, how many were added. Ctrl-C stops it; the same command then ' +
        'goes on where it stopped.',
    )
    .action((options: { organization: string; out?: string }) =>
      withSession(program, (session) => exportTo(session, options)),
    );
  history
    .command('checkpoint')
    .description('seal what is there, and write the signed checkpoint; keep it elsewhere')
    .requiredOption('--organization <id>', 'the organization; all for the log of the checkpoints of all')
    .option('--out <file>', 'where to, with the files below; default: standard output, without them', path)
    .addHelpText(
      'after',
      '\nWhere it goes into a file, prints { "size", "position" }: events sealed, and up to where; beside it are its parts in ' +
        '<file>.parts, and in <file>.tlog-proof the proof that it is in the log of all organizations. Of that log itself size is the ' +
        'number of checkpoints, and beside it is <file>.organizations: what it has last of each. What is not what was signed ' +
        'before is looked at now, and signed if it was mended; otherwise the last checkpoint that was signed is written, and the ' +
        'status is 1. The witnesses in WITNESS_URLS are asked to cosign it; who does not is named on standard error, and the status is 1 ' +
        'if one contradicts it.',
    )
    .action((options: { organization: string; out?: string }) =>
      withSession(program, (session) => writeCheckpoint(session, options)),
    );
  const key = history
    .command('key')
    .description('write the public key that checkpoints are verified with')
    .option(
      '--organization <id>',
      'for the checkpoints of one organization, or all for those of all together, under their origin’s name as stock tools want it',
    )
    .option('--out <file>', 'where to; default: standard output', path)
    .addHelpText('after', '\nWhere it goes into a file, prints { "key" }.')
    .action((options: { organization?: string; out?: string }) =>
      withSession(program, async ({ runtime: { signers }, requireLog }) => {
        const { organization } = options;
        const key =
          organization === undefined
            ? signers.verifierKey
            : signers.verifierKeyOf(await requireLog(organization));
        return write(options.out, `${key}\n`, { key });
      }),
    );
  key
    .command('rotate')
    .description(
      'tell each history that SIGNING_KEY has taken the place of the first key in SIGNING_KEY_PREVIOUS',
    )
    .addHelpText(
      'after',
      '\nWhoever has the key before can then verify with it what the next one signs. Prints { "from", "to", "organizations", ' +
        '"told" }: the keys, and how many histories there are and were told it now. Once more does no harm.',
    )
    .action(() => withSession(program, rotateKey));
  history
    .command('status')
    .description(
      'how far the history is sealed, of which organizations it is not, what the self-check found, and whom a witness contradicts',
    )
    .addHelpText(
      'after',
      '\nPrints { "sealed", "last", "refused": [{ "organizationId", "since", "reason" }, 100 at most], "selfCheck": { "findings": ' +
        '[{ "kind", "subject", "finding", "since" }], "subjects", "current" }, "contradicted": [{ "organizationId", "witness", "since", ' +
        '"reason" }] }; status 1 if anything is refused, found or contradicted. What to do then: docs/at-night.md.',
    )
    .action(() =>
      withSession(program, async ({ runtime: { sealer, selfCheck, cosigning } }) => {
        const { sealed, last } = await sealer.progress();
        const checked = await selfCheck.status();
        const refused = await sealer.refused();
        const contradicted = await cosigning.alarms();
        if (refused.length + checked.findings.length + contradicted.length > 0) process.exitCode = 1;
        return { sealed, last, refused, selfCheck: checked, contradicted };
      }),
    );
  history
    .command('replay')
    .description('rebuild the records from an exported history alone, and print them, one a line')
    .argument('<file>', 'what history export wrote', path)
    .option('--until <moment>', 'only events up to this position or RFC 3339 moment')
    .option('--sha256', 'print the SHA-256 of the lines instead')
    .action((file: string, options: { until?: string; sha256?: true }) => replayFile(file, options));
  history
    .command('request-id')
    .description('what stands for an X-Request-Id in logs and events')
    .argument('<id>', 'the id as the client sent it')
    .addHelpText(
      'after',
      '\nPrints { "requestId" }: the id itself, or a keyed hash where it could hold personal data.',
    )
    .action((id: string) =>
      withSession(program, ({ runtime: { store } }) =>
        Promise.resolve({ requestId: storedRequestId(id, store.keyring) }),
      ),
    );
  verifyCommand(history);
  consistencyCommand(history);
  monitorCommand(history);
  anchorCommand(history, program);
}

async function writeCheckpoint(
  session: Session,
  { organization, out }: { organization: string; out?: string },
): Promise<object | undefined> {
  const { runtime, requireLog } = session;
  const { sealer, checkpoints } = runtime;
  const id = await requireLog(organization);
  await sealer.sign(id);
  const refusal = await sealer.mend(id);
  if (refusal !== undefined) {
    const whose = id === organization ? 'of this organization' : 'in the log of all organizations';
    process.stderr.write(`Nothing more is sealed ${whose}: ${refusal}. See docs/at-night.md.\n`);
    process.exitCode = 1;
  }
  if (id === ALL_ORGANIZATIONS) {
    await sealer.logAll();
    const checkpoint = await checkpoints.last(id);
    const { size, position } = checkpoint;
    if (out !== undefined) {
      await writeBeside(`${out}.organizations`, await checkpoints.organizations(checkpoint));
    }
    return write(out, await cosigned(session, checkpoint), { size, position });
  }
  const { checkpoint, inAll } = await checkpoints.lastInAll(id);
  const { size, position } = checkpoint;
  if (out !== undefined) {
    await writeBeside(`${out}.parts`, await checkpoints.parts(checkpoint));
    await writeBeside(`${out}.tlog-proof`, inAll ? writeProof(inAll) : '');
  }
  return write(out, await cosigned(session, checkpoint), { size, position });
}

/** The note with the cosignatures of all witnesses that give theirs now. */
async function cosigned({ runtime: { cosigning } }: Session, checkpoint: SignedTree): Promise<string> {
  for (const { witness, reason, contradicts } of await cosigning.ask(checkpoint)) {
    process.stderr.write(`The witness ${witness} has not cosigned it: ${reason}.\n`);
    if (contradicts) process.exitCode = 1;
  }
  return (await cosigning.cosigned(checkpoint)).note;
}

/** What is there of an earlier checkpoint does not stay beside this one. */
async function writeBeside(file: string, text: string): Promise<void> {
  if (text === '') await rm(file, { force: true });
  else await write(file, text, {});
}

async function exportTo(
  session: Session,
  { organization, out }: { organization: string; out?: string },
): Promise<{ events: number } | undefined> {
  await session.requireOrganization(organization);
  const after = out === undefined ? 0 : await continueAfter(out, organization);
  const interruption = interruptible();
  let state = { count: 0, done: 0, total: 1 };
  const onProgress = (count: number, position: number, upTo: number) =>
    (state = { count, done: position - after, total: Math.max(upTo - after, 1) });
  const query = input(ExportEvents, organization, { after, onProgress });
  const { chunks } = await session.ask<StreamedAnswer>(query);
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
    const again = out === undefined ? 'begins anew' : 'goes on where it stopped';
    process.stderr.write(`Stopped before the end: the same command ${again}.\n`);
  } finally {
    progress.stop();
  }
  return out === undefined ? undefined : { events: state.count };
}

/** The last position in a file that an export wrote, which may have been interrupted in the middle of a line. */
async function continueAfter(file: string, organizationId: string): Promise<number> {
  const handle = await open(file, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`The file cannot be written: ${describeError(error)}.`);
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
    // Judged before anything is taken away: the file may be somebody's, named by mistake.
    const isOurs = event ? event.organizationId === organizationId : last === '' && start + end === 0;
    if (!isOurs || !LINE_BEGINS.startsWith(torn)) {
      throw new UsageError(
        'The file holds something else than the history of this organization: give another.',
      );
    }
    await handle.truncate(start + end);
    return event?.position ?? 0;
  } finally {
    await handle.close();
  }
}

async function replayFile(file: string, { until, sha256 }: { until?: string; sha256?: true }): Promise<void> {
  try {
    const isBefore = limitOf(until);
    let [readable, unstored] = [0, 0];
    async function* events(): AsyncGenerator<RecordedEvent> {
      let number = 0;
      for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
        number += 1;
        const stored = parseExported(line);
        if (!stored) throw new UsageError(`Line ${number} is no event of an exported history.`);
        if (!isBefore(stored)) continue;
        const { type, schema, personal, encryptedPersonal } = stored;
        const newest = readSchema(upcasters, type);
        if (schema > newest) {
          throw new UsageError(
            `Line ${number} holds ${type.slice(0, LONGEST_TYPE)} in schema ${schema}, which a newer release wrote: ` +
              `this one, ${programVersion()}, reads it up to schema ${newest}. Replay the file with the newer release.`,
          );
        }
        if (personal) readable += 1;
        if (personal && !encryptedPersonal) unstored += 1;
        yield inNewestShape(stored, upcasters);
      }
    }
    const hash = createHash('sha256');
    const unknown = new Set<string>();
    const replayed = await replay(replayables, events(), ({ type }) => unknown.add(type));
    if (unknown.size > 0) {
      const types = [...unknown].map((type) => type.slice(0, LONGEST_TYPE)).join(', ');
      process.stderr.write(`Left out, because only a later version of this program knows them: ${types}.\n`);
    }
    if (readable > 0) process.stderr.write(`${unvouched(readable, unstored)}\n`);
    for (const { object, records } of replayed) {
      for (const record of records) {
        const line = `${JSON.stringify({ object, data: record })}\n`;
        if (sha256) hash.update(line);
        else process.stdout.write(line);
      }
    }
    if (sha256) process.stdout.write(`${hash.digest('hex')}\n`);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
}

/** No digest covers what stands readable, and only the server has the keys to what is encrypted beside it. */
function unvouched(readable: number, unstored: number): string {
  const events = (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'event' : 'events'}`;
  const worse = unstored > 0 ? `; of ${events(unstored)} nothing personal was ever stored` : '';
  return `Nothing vouches for the personal data of ${events(readable)} but who wrote the file${worse}.`;
}

/** By moment a beginning of each stream, as `asOf` has it. */
function limitOf(until: string | undefined): (event: RecordedEvent) => boolean {
  if (until === undefined) return () => true;
  if (/^\d+$/.test(until)) return ({ position }) => position <= Number(until);
  const moment = Date.parse(until);
  if (Number.isNaN(moment)) throw new UsageError('--until takes a position or an RFC 3339 moment.');
  const later = new Set<string>();
  return ({ streamId, recordedAt }) => {
    if (recordedAt.getTime() > moment) later.add(streamId);
    return !later.has(streamId);
  };
}

/** @returns what is printed of it: nothing where the text itself is. */
async function write(file: string | undefined, text: string, about: object): Promise<object | undefined> {
  if (file === undefined) {
    process.stdout.write(text);
    return undefined;
  }
  await writeFile(file, text).catch((error: unknown) => {
    throw new UsageError(`The file cannot be written: ${describeError(error)}.`);
  });
  return about;
}
