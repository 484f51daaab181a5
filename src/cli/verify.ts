import { type Command, InvalidArgumentError } from 'commander';
import { readFile } from 'node:fs/promises';
import { describeError, openDatabase, type Sql } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { loadConfig } from '../config.js';
import { type Verdict, verifyDatabase, verifyFile } from '../history/verify/index.js';
import { openRuntime } from '../runtime.js';
import { keyOf } from './outside.js';
import { Progress } from './progress.js';
import { INTERRUPTED, interruptible, path } from './session.js';

type VerifyOptions = {
  organization?: string;
  checkpoint: string;
  key: string;
  parts?: string;
  witness?: string[];
  quorum?: number;
};

/** Adds `verify` to the commands of `history`. */
export function verifyCommand(history: Command): void {
  const verify = history
    .command('verify')
    .description(
      'compare the history with a checkpoint that was kept: was anything changed, removed or put in?',
    )
    .argument('[file]', 'an export of the whole history', path)
    .option('--organization <id>', 'in place of a file: verify the history in the database')
    .requiredOption(
      '--checkpoint <file>',
      'what history checkpoint wrote, or event.get-checkpoint answered',
      path,
    )
    .requiredOption('--key <key>', 'the verifier key of the server, or a file that holds it')
    .option(
      '--parts <file>',
      'parts of the checkpoint, which place a difference; left out, the file beside it that ends in .parts',
      path,
    )
    .option(
      '--witness <key...>',
      'verifier keys of witnesses, or files that hold one; all must have cosigned it',
    )
    .option('--quorum <n>', 'so many of the witnesses are enough', wholeNumber)
    .addHelpText(
      'after',
      `
Tells the first position at which the history is not the one that was sealed; on standard error one sentence to quote. With
--json as { "ok", "events", "provedEvents", "newerEvents", "firstWrongPosition", "reason", "warnings", "warningCount",
"checkpoint": { "organizationId", "size", "position", "sealedAt", "key", "givenKey", "witnesses" } }. A key that another has taken the
place of (history key rotate) leads to that. Ends with status 0 if there is none, with 1 if
there is one or nothing could be verified. A file needs no database and no server; verifying takes some hundred megabytes of
memory, and 40 to 80 bytes more for each stream.`,
    )
    .action(async (file: string | undefined, options: VerifyOptions) => {
      const { organization } = options;
      if ((file === undefined) === (organization === undefined)) {
        verify.error('error: name either the file of an export or --organization');
      }
      if (options.quorum !== undefined && !(options.quorum <= (options.witness?.length ?? 0))) {
        verify.error('error: --quorum is how many of the keys given with --witness must have cosigned');
      }
      const signal = interruptible();
      let state = { count: 0, done: 0, total: 1 };
      const onProgress = ({ events, share }: { events: number; share: number }) =>
        (state = { count: events, done: share, total: 1 });
      const progress = new Progress('events', () => state);
      try {
        const checkpoint = await readFile(options.checkpoint, 'utf8');
        const key = await keyOf(options.key);
        const parts = await partsOf(options);
        const witnesses = await Promise.all((options.witness ?? []).map(keyOf));
        const how = { signal, onProgress, parts, witnesses, quorum: options.quorum };
        const verdict =
          file === undefined
            ? await withDatabase((sql) => verifyDatabase(sql, organization!, checkpoint, key, how))
            : await verifyFile(file, checkpoint, key, how);
        progress.stop();
        const json = verify.optsWithGlobals<{ json?: true }>().json === true;
        process.stdout.write(json ? `${JSON.stringify(verdict)}\n` : inWords(verdict));
        process.stderr.write(`${statement(verdict)}\n`);
        process.exitCode = verdict.ok ? 0 : 1;
      } catch (error) {
        progress.stop();
        const said = signal.aborted ? 'Interrupted: nothing was verified.' : describeError(error);
        process.stderr.write(`${said}\n`);
        process.exitCode = signal.aborted ? INTERRUPTED : 1;
      }
    });
}

/** Nothing but a connection, where that is enough: what is to be proved must not be needed for the proof. */
async function withDatabase<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const config = loadConfig();
  if (config.databaseUrl !== undefined) {
    const source = await openDatabase({ url: config.databaseUrl, poolSize: 2, migrations: [] });
    return work(source).finally(() => source.destroy());
  }
  const runtime = await openRuntime(config, new JsonLogger('silent'));
  try {
    return await work(runtime.source);
  } finally {
    await runtime.close();
  }
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1 on.');
  return Number(text);
}

/** What stands beside the checkpoint, unless another file is named. */
async function partsOf({ checkpoint, parts }: VerifyOptions): Promise<string | undefined> {
  return readFile(parts ?? `${checkpoint}.parts`, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (parts === undefined && error.code === 'ENOENT') return undefined;
    throw error;
  });
}

const count = (number: number) => number.toLocaleString('en');

function inWords({ ok, provedEvents, newerEvents, firstWrongPosition, reason, ...verdict }: Verdict): string {
  const lines: string[] = [];
  if (ok) {
    const rest =
      newerEvents > 0
        ? ` ${count(newerEvents)} are newer than the checkpoint: the next one proves them.`
        : '';
    lines.push(`The history is what was sealed: ${count(provedEvents)} events are proved.${rest}`);
  } else {
    if (firstWrongPosition === null) lines.push('The history could not be proved.');
    else lines.push('The history is not what was sealed.', `First wrong position: ${firstWrongPosition}`);
    lines.push(reason!);
    if (provedEvents > 0) lines.push(`The first ${count(provedEvents)} events are proved.`);
  }
  lines.push(...verdict.warnings.map((warning) => `Note: ${warning.reason}`));
  const others = verdict.warningCount - verdict.warnings.length;
  if (others > 0) lines.push(`${count(others)} more notes are left out.`);
  return lines.map((line) => `${line}\n`).join('');
}

/** One sentence to quote: what was compared with what, what came out, and what it says nothing of. */
function statement({ ok, checkpoint, newerEvents, reason }: Verdict): string {
  if (!checkpoint) return `Nothing was compared: ${reason}`;
  const { organizationId, size, position, sealedAt, key, givenKey, witnesses = [] } = checkpoint;
  const successor = givenKey === undefined ? '' : `, which has taken the place of the key ${givenKey}`;
  const cosigned = witnesses
    .map(({ witness, time }) => ` and cosigned by ${witness} at ${time.toISOString()}`)
    .join('');
  const history = `The history of organization ${organizationId}`;
  const note = `the checkpoint of ${count(size)} events, up to position ${position}, sealed at ${sealedAt} with the key ${key}${successor}${cosigned}`;
  if (!ok) return `${history} was compared with ${note}, and was not accepted: ${reason}`;
  const newer =
    newerEvents === 0 ? 'no event is newer' : `${count(newerEvents)} newer events are not covered`;
  return `${history} holds, unchanged, in order and complete, what ${note}, covers; ${newer}.`;
}
