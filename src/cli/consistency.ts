import { type Command } from 'commander';
import { describeError } from '#libs/database';
import { areSame, type Checkpoint, openCheckpoint, type Succession } from '#libs/verify';
import {
  compareByFile,
  compareBySubtrees,
  type Comparison,
  contradictionOf,
  headOf,
  leavesOf,
  LogClient,
  successionsOfFile,
} from '../audit/index.js';
import { apiKeyOf, keyOf, nothingCompared, urlOf } from './outside.js';
import { path, readCheckpoint } from './session.js';

type Options = { key: string; export?: string; url?: string; apiKeyFile?: string };
type Outcome = Comparison | 'shrank';
type Finding = { outcome: Outcome; sentence: string };

export function consistencyCommand(history: Command): void {
  const command = history
    .command('consistency')
    .description('compare two checkpoints: does the newer history begin with the whole older one?')
    .argument('<older>', 'the file of the older checkpoint', path)
    .argument('<newer>', 'the file of the newer checkpoint', path)
    .requiredOption(
      '--key <key>',
      'the verifier key of the server, a previous one, or a file that contains one',
    )
    .option('--export <file>', 'compare with an export of the whole history', path)
    .option('--url <url>', 'compare with the tiles of this server', urlOf)
    .option(
      '--api-key-file <file>',
      'an API key with the scope history:read; not needed if the log is public',
      path,
    )
    .addHelpText(
      'after',
      `
Prints a sentence that you can quote. With --json, prints { "outcome": "grew" | "forked" | "shrank" | "unproved", "sentence" }.
Exits with status 0 if the newer history begins with the older one, 1 if it does not, and 2 if nothing was proved. If the status
is 1, the two signed checkpoints are evidence that the server signed two histories. Needs no database.`,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  command.action(async (older: string, newer: string, options: Options) => {
    try {
      if (options.export !== undefined && options.url !== undefined) {
        command.error('error: use either --export or --url');
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
    const note = await readCheckpoint(file);
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
    const pair = `the checkpoint of ${sizeAndTimeOf(newer)}, and the checkpoint of ${sizeAndTimeOf(older)}`;
    return {
      outcome,
      sentence: `${what} (${pair}; organization ${newer.organizationId}, key ${newer.key}).`,
    };
  };
  if (older.organizationId !== newer.organizationId) {
    throw new Error(
      `The checkpoints belong to different organizations: ${older.organizationId}, ${newer.organizationId}.`,
    );
  }
  if (older.size > newer.size) {
    return found(
      'shrank',
      'The second checkpoint has fewer events than the first. If it is the newer one, events were removed; otherwise swap them',
    );
  }
  const contradiction = contradictionOf(older, newer);
  const contradicting = () =>
    found('forked', `The two checkpoints were signed, but contradict each other: ${contradiction}`);
  if (older.size === newer.size) {
    if (areSame(older.root, newer.root) && contradiction !== undefined) return contradicting();
    return areSame(older.root, newer.root)
      ? found('grew', 'Both checkpoints cover the same history')
      : found('forked', 'Two different histories with the same number of events were signed');
  }
  const { outcome, mistake } = await prove(older, newer, options);
  if (outcome === 'grew') {
    if (contradiction !== undefined) return contradicting();
    return found('grew', 'The newer history begins with the whole older one, unchanged and in order');
  }
  if (outcome === 'forked') {
    return found(
      'forked',
      'The newer history does not begin with the older one: events were changed, removed or inserted',
    );
  }
  const source = options.url === undefined ? 'The export' : 'The log of the server';
  return found(
    'unproved',
    `${source} is not the history of the newer checkpoint: ${mistake?.replace(/\.$/, '') ?? 'its root differs'}`,
  );
}

async function prove(
  older: Checkpoint,
  newer: Checkpoint,
  options: Options,
): Promise<{ outcome: Comparison; mistake?: string }> {
  if (options.export !== undefined) return compareByFile(older, newer, options.export);
  if (options.url === undefined) throw new Error('Add --export or --url.');
  const client = await clientOf(options.url, newer.organizationId, options);
  return { outcome: await compareBySubtrees(older, newer, client.subtreesOf(newer.size)) };
}

function sizeAndTimeOf(checkpoint: Checkpoint): string {
  const { size, sealedAt } = checkpoint;
  return `${size.toLocaleString('en')} ${leavesOf(checkpoint)}, dated ${sealedAt} by the server`;
}
