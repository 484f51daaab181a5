import { type Command, InvalidArgumentError } from 'commander';
import { readFile } from 'node:fs/promises';
import { describeError, openDatabase, type Sql } from '#libs/database';
import {
  type Against,
  ALL,
  type AllVerdict,
  type Verdict,
  verifyAll,
  verifyDatabase,
  verifyFile,
} from '../history/verify/index.js';
import { keyOf } from './outside.js';
import { Progress } from './progress.js';
import { INTERRUPTED, interruptible, path } from './session.js';

type VerifyOptions = {
  organization?: string;
  checkpoint: string;
  key: string;
  parts?: string;
  proof?: string;
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
    .option(
      '--organization <id>',
      'in place of a file: verify the history in the database; all: that no organization is gone from it',
    )
    .requiredOption(
      '--checkpoint <file>',
      'what history checkpoint wrote, or history.get-checkpoint answered',
      path,
    )
    .requiredOption('--key <key>', 'the verifier key of the server, or a file that holds it')
    .option(
      '--parts <file>',
      'parts of the checkpoint, which place a difference; left out, the file beside it that ends in .parts',
      path,
    )
    .option(
      '--proof <file>',
      'that the checkpoint is in the log of all organizations; left out, the file beside it that ends in .tlog-proof',
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
place of (history key rotate) leads to that. With --organization all the checkpoint is that of the log of all organizations, each
organization in it must have the history that the log says, and --json prints { "ok", "leaves", "organizations", "reason", "wrong":
[{ "organizationId", "reason" }, 100 at most], "wrongCount", "checkpoint" }; where the log itself is another, those are looked for
that stand in <checkpoint>.organizations. Ends with status 0 if there is none, with 1 if
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
        const parts = await readBeside(options.checkpoint, '.parts', options.parts);
        const proof = await readBeside(options.checkpoint, '.tlog-proof', options.proof);
        const witnesses = await Promise.all((options.witness ?? []).map(keyOf));
        const how = { signal, onProgress, parts, proof, witnesses, quorum: options.quorum };
        const json = verify.optsWithGlobals<{ json?: true }>().json === true;
        const say = (verdict: { ok: boolean }, words: string, sentence: string) => {
          progress.stop();
          process.stdout.write(json ? `${JSON.stringify(verdict)}\n` : words);
          process.stderr.write(`${sentence}\n`);
          process.exitCode = verdict.ok ? 0 : 1;
        };
        if (organization === ALL.name) {
          const organizations = await readBeside(options.checkpoint, '.organizations');
          const verdict = await withDatabase((sql) =>
            verifyAll(sql, checkpoint, key, { ...how, organizations }),
          );
          say(verdict, allInWords(verdict), allStatement(verdict));
          return;
        }
        const verdict =
          file === undefined
            ? await withDatabase((sql) => verifyDatabase(sql, organization!, checkpoint, key, how))
            : await verifyFile(file, checkpoint, key, how);
        say(verdict, inWords(verdict), statement(verdict));
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
  const { loadConfig } = await import('../config.js');
  const config = loadConfig();
  if (config.databaseUrl !== undefined) {
    const source = await openDatabase({ url: config.databaseUrl, poolSize: 2, migrations: [] });
    try {
      return await work(source);
    } finally {
      await source.destroy();
    }
  }
  const { JsonLogger } = await import('#libs/operations');
  const { openRuntime } = await import('../runtime.js');
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
async function readBeside(checkpoint: string, ending: string, named?: string): Promise<string | undefined> {
  return readFile(named ?? checkpoint + ending, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (named === undefined && error.code === 'ENOENT') return undefined;
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
  const { organizationId, size, position, inAll } = checkpoint;
  const history = `The history of organization ${organizationId}`;
  const logged = inAll
    ? `, number ${count(inAll.index + 1)} of the ${count(inAll.size)} checkpoints of all organizations up to ${inAll.sealedAt}`
    : '';
  const note = `the checkpoint of ${count(size)} events, up to position ${position}, ${signedBy(checkpoint)}${logged}`;
  if (!ok) return `${history} was compared with ${note}, and was not accepted: ${reason}`;
  const newer =
    newerEvents === 0 ? 'no event is newer' : `${count(newerEvents)} newer events are not covered`;
  return `${history} holds, unchanged, in order and complete, what ${note}, covers; ${newer}.`;
}

function signedBy({ sealedAt, key, givenKey, witnesses = [] }: Against): string {
  const successor = givenKey === undefined ? '' : `, which has taken the place of the key ${givenKey}`;
  const cosigned = witnesses
    .map(({ witness, time }) => ` and cosigned by ${witness} at ${time.toISOString()}`)
    .join('');
  return `sealed at ${sealedAt} with the key ${key}${successor}${cosigned}`;
}

function allInWords({ ok, leaves, organizations, reason, wrong, wrongCount }: AllVerdict): string {
  const lines = ok
    ? [`No organization is gone: ${count(organizations)} have what their ${count(leaves)} checkpoints say.`]
    : ['What is there is not what was signed of all organizations.'];
  if (reason !== null) lines.push(reason);
  lines.push(...wrong.map((one) => `Organization ${one.organizationId}: ${one.reason}`));
  const others = wrongCount - wrong.length;
  if (others > 0) lines.push(`${count(others)} more organizations are left out.`);
  return lines.map((line) => `${line}\n`).join('');
}

function allStatement({ ok, checkpoint, organizations, reason, wrong, wrongCount }: AllVerdict): string {
  if (!checkpoint) return `Nothing was compared: ${reason}`;
  const note = `the log of ${count(checkpoint.size)} checkpoints of all organizations, ${signedBy(checkpoint)}`;
  if (ok)
    return `Each of the ${count(organizations)} organizations of ${note}, is there, with the history of its checkpoints.`;
  const [first] = wrong;
  const named = first
    ? ` Organization ${first.organizationId}${wrongCount > 1 ? `, the first of ${count(wrongCount)}` : ''}: ${first.reason}`
    : '';
  return `The organizations that are there were compared with ${note}, and were not accepted:${reason === null ? '' : ` ${reason}`}${named}`;
}
