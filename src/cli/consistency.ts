import { type Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { describeError } from '#libs/database';
import {
  type Checkpoint,
  compareByFile,
  compareBySubtrees,
  type Comparison,
  headOf,
  leavesOf,
  LogClient,
  openCheckpoint,
  type Succession,
  successionsOfFile,
} from '../history/verify/index.js';
import { apiKeyOf, keyOf, nothingCompared, urlOf } from './outside.js';
import { path } from './session.js';

type Options = { key: string; export?: string; url?: string; apiKeyFile?: string };
type Outcome = Comparison | 'shrank';
type Finding = { outcome: Outcome; sentence: string };

/** Adds `consistency` to the commands of `history`. */
export function consistencyCommand(history: Command): void {
  const command = history
    .command('consistency')
    .description('compare two checkpoints: does the newer history begin with the whole older one?')
    .argument('<older>', 'the file of the older checkpoint', path)
    .argument('<newer>', 'the file of the newer one', path)
    .requiredOption(
      '--key <key>',
      'the verifier key of the server, or one whose place that has taken, or a file that holds it',
    )
    .option('--export <file>', 'proves it: an export of the whole history', path)
    .option('--url <url>', 'proves it: the server, by the tiles that it shows', urlOf)
    .option(
      '--api-key-file <file>',
      'a key of the server’s with the scope history:read; none where the log is public',
      path,
    )
    .addHelpText(
      'after',
      `
Prints one sentence to quote; with --json { "outcome": "grew" | "forked" | "shrank" | "unproved", "sentence" }. Ends with status 0
if it does; with 1 if it does not, of which the two signed checkpoints are evidence; with 2 if nothing was compared, or if what was
to prove it is not the newer history. Needs no database.`,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  command.action(async (older: string, newer: string, options: Options) => {
    try {
      if (options.export !== undefined && options.url !== undefined) {
        command.error('error: give either --export or --url');
      }
      const key = await keyOf(options.key);
      const [one, other] = [await open(older, key, options), await open(newer, key, options)];
      const { outcome, sentence } = await compare(one, other, options);
      const json = command.optsWithGlobals<{ json?: true }>().json === true;
      process.stdout.write(`${json ? JSON.stringify({ outcome, sentence }) : sentence}\n`);
      process.exitCode = { grew: 0, forked: 1, shrank: 1, unproved: 2 }[outcome];
    } catch (error) {
      nothingCompared(error);
    }
  });
}

async function open(file: string, key: string, options: Options): Promise<Checkpoint> {
  try {
    const note = await readFile(file, 'utf8');
    return await openCheckpoint(note, key, () => successionsOf(note, options));
  } catch (error) {
    throw new Error(`${file}: ${describeError(error)}`, { cause: error });
  }
}

async function successionsOf(note: string, options: Options): Promise<Succession[]> {
  if (options.export !== undefined) return successionsOfFile(options.export);
  const organizationId = headOf(note)?.origin.split('/')[1];
  if (options.url === undefined || organizationId === undefined) return [];
  return (await clientOf(options.url, organizationId, options)).successions();
}

async function clientOf(url: string, organizationId: string, { apiKeyFile }: Options): Promise<LogClient> {
  return new LogClient(url, organizationId, await apiKeyOf(apiKeyFile));
}

async function compare(older: Checkpoint, newer: Checkpoint, options: Options): Promise<Finding> {
  const found = (outcome: Outcome, what: string): Finding => {
    const pair = `the checkpoint of ${told(newer)} and that of ${told(older)}`;
    return {
      outcome,
      sentence: `${what} (${pair}; organization ${newer.organizationId}, key ${newer.key}).`,
    };
  };
  if (older.organizationId !== newer.organizationId) {
    throw new Error(
      `The checkpoints are of two organizations: ${older.organizationId}, ${newer.organizationId}.`,
    );
  }
  if (older.size > newer.size) {
    return found(
      'shrank',
      'The second checkpoint has fewer events than the first: if it is the newer one, events were taken away; if not, swap them',
    );
  }
  if (older.size === newer.size) {
    return older.root.equals(newer.root)
      ? found('grew', 'Both checkpoints are of the same history')
      : found('forked', 'Two different histories of as many events were signed: one contradicts the other');
  }
  const { outcome, mistake } = await prove(older, newer, options);
  if (outcome === 'grew') {
    return found('grew', 'The newer history begins with the whole older one, unchanged and in order');
  }
  if (outcome === 'forked') {
    return found(
      'forked',
      'The newer history does not begin with the older one: something of it was changed, removed or put in',
    );
  }
  const source = options.url === undefined ? 'The export' : 'What the server shows';
  return found(
    'unproved',
    `${source} is not the history of the newer checkpoint: ${mistake?.replace(/\.$/, '') ?? 'it has another root'}`,
  );
}

async function prove(
  older: Checkpoint,
  newer: Checkpoint,
  options: Options,
): Promise<{ outcome: Comparison; mistake?: string }> {
  if (options.export !== undefined) return compareByFile(older, newer, options.export);
  if (options.url === undefined) throw new Error('Give what proves it: --export or --url.');
  const client = await clientOf(options.url, newer.organizationId, options);
  return { outcome: await compareBySubtrees(older, newer, client.subtreesOf(newer.size)) };
}

function told(checkpoint: Checkpoint): string {
  const { size, sealedAt } = checkpoint;
  return `${size.toLocaleString('en')} ${leavesOf(checkpoint)} sealed at ${sealedAt}`;
}
