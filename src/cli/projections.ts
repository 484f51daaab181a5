import { type Command } from 'commander';
import { interruptible, UsageError, withSession } from './session.js';
import { Progress } from './progress.js';

export function projectionCommands(program: Command): void {
  const projections = program
    .command('projections')
    .description('look at, rebuild, verify, purge and drop the read models');
  projections
    .command('status')
    .description('how far each read model is, which fails, where and why, and which versions are served')
    .addHelpText(
      'after',
      '\nPrints [{ "name", "version", "position", "lag", "failure", "instances", "failingNow" }]: also versions that servers of ' +
        'another release serve (those of 0.1.0 are not counted), and this command itself as one of the instances.',
    )
    .action(() => withSession(program, ({ runtime }) => runtime.projections.versions()));
  projections
    .command('rebuild')
    .description(
      'build a read model anew from the history, and put it in place of the old one, while servers run',
    )
    .argument('<name>', 'its name, as status prints it')
    .addHelpText('after', '\nPrints { "rebuilt" }. Ctrl-C leaves the old one in place.')
    .action((name: string) =>
      withSession(program, async ({ runtime }) => {
        await shown((options) => runtime.projections.maintenance.rebuild(name, options));
        return { rebuilt: name };
      }),
    );
  projections
    .command('verify')
    .description('build a read model anew beside the live one, and compare them row by row at one position')
    .argument('<name>', 'its name, as status prints it')
    .addHelpText(
      'after',
      '\nPrints { "differences": [{ "table", "key", "problem", "columns" }, 100 at most] }; status 1 if there are any.',
    )
    .action((name: string) =>
      withSession(program, async ({ runtime }) => {
        const differences = await shown((options) => runtime.projections.maintenance.verify(name, options));
        if (differences.length > 0) process.exitCode = 1;
        return { differences };
      }),
    );
  projections
    .command('purge')
    .description('write the files anew that may hold persons who were erased, while servers run')
    .addHelpText(
      'after',
      '\nPrints { "rebuilt", "underWay", "earlierVersions", "logEnded" }: read models rebuilt, those that somebody else is ' +
        'rebuilding, versions that should be dropped, and whether PostgreSQL let us end its log (roles need pg_checkpoint and ' +
        'EXECUTE on pg_switch_wal). What remains then, and where: docs/guides/erasure.md.',
    )
    .action(() =>
      withSession(program, ({ runtime }) =>
        shown((options) => runtime.projections.maintenance.purge(options)),
      ),
    );
  projections
    .command('drop')
    .description(
      'drop the tables of a version that no server serves any more; servers do it by themselves in minutes',
    )
    .argument('<name>', 'its name, as status prints it')
    .requiredOption('--version <number>', 'which version', Number)
    .option('--force', 'also if somebody serves it: they then fail until they are started again')
    .addHelpText(
      'after',
      '\nLooks for 12 s whether somebody serves it all the same. Prints { "dropped", "version" }.',
    )
    .action((name: string, { version, force }: { version: number; force?: true }) =>
      withSession(program, async ({ runtime }) => {
        if (!Number.isSafeInteger(version)) throw new UsageError('--version must be a number.');
        await runtime.projections.maintenance.drop(name, version, force);
        return { dropped: name, version };
      }),
    );
}

type Options = { onProgress: (position: number, upTo: number) => void; signal: AbortSignal };

/** Shows how far the work is, in positions of the log. */
async function shown<Result>(work: (options: Options) => Promise<Result>): Promise<Result> {
  let [done, total] = [0, 1];
  const progress = new Progress('positions', () => ({ count: done, done, total }));
  try {
    return await work({
      onProgress: (position, upTo) => ([done, total] = [position, Math.max(upTo, 1)]),
      signal: interruptible(),
    });
  } finally {
    progress.stop();
  }
}
