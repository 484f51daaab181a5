import { type Command } from 'commander';
import { type BuildOptions } from '#libs/projections';
import { interruptible, UsageError, withSession } from './session.js';
import { Progress } from './progress.js';

export function projectionCommands(program: Command): void {
  const projections = program
    .command('projections')
    .description('inspect, rebuild, verify, purge and drop projections');
  projections
    .command('status')
    .description('show the progress and failures of each projection, and which versions are in use')
    .addHelpText(
      'after',
      '\nPrints [{ "name", "version", "position", "lag", "failure", "instances", "failingNow" }]. Includes versions that other ' +
        'releases use (except 0.1.0). This command counts as one of the instances.',
    )
    .action(() => withSession(program, ({ runtime }) => runtime.projections.versions()));
  projections
    .command('rebuild')
    .description('rebuild a projection from the history and swap it in, while servers run')
    .argument('<name>', 'the projection, as listed by status')
    .addHelpText(
      'after',
      '\nPrints { "rebuilt", "skipped" }: the projection, and the number of events that were skipped because their personal data cannot be ' +
        'decrypted. If there are any, the status is 1. If you press Ctrl-C, the old projection stays in use.',
    )
    .action((name: string) =>
      withSession(program, async ({ runtime }) => {
        const skipped = await shown((options) => runtime.projections.maintenance.rebuild(name, options));
        return { rebuilt: name, skipped: skipped.count };
      }),
    );
  projections
    .command('verify')
    .description(
      'rebuild a projection next to the live one, and compare them row by row at the same position',
    )
    .argument('<name>', 'the projection, as listed by status')
    .addHelpText(
      'after',
      '\nPrints { "differences": [{ "table", "key", "problem", "columns" }, 100 at most], "skipped" }. Exits with status 1 if there are any, ' +
        'or if events were skipped because their personal data cannot be decrypted.',
    )
    .action((name: string) =>
      withSession(program, async ({ runtime }) => {
        const found = await shown((options) => runtime.projections.maintenance.verify(name, options));
        if (found.result.length > 0) process.exitCode = 1;
        return { differences: found.result, skipped: found.count };
      }),
    );
  projections
    .command('purge')
    .description('rewrite files that may still contain erased people, while servers run')
    .addHelpText(
      'after',
      '\nPrints { "rebuilt", "underWay", "earlierVersions", "logEnded" }: the rebuilt projections, those that another process ' +
        'is rebuilding, versions that you should drop, and whether the write-ahead log was ended. This requires pg_checkpoint ' +
        'and EXECUTE on pg_switch_wal. docs/guides/erasure.md lists what remains.',
    )
    .action(() =>
      withSession(program, ({ runtime }) =>
        shown((options) => runtime.projections.maintenance.purge(options)).then(({ result }) => result),
      ),
    );
  projections
    .command('drop')
    .description('drop the tables of an unused version; servers do this automatically within minutes')
    .argument('<name>', 'the projection, as listed by status')
    .requiredOption('--version <number>', 'the version to drop', Number)
    .option('--force', 'even if an instance uses it, which then fails until it is restarted')
    .addHelpText('after', '\nWaits 12 s to check that no instance uses it. Prints { "dropped", "version" }.')
    .action((name: string, { version, force }: { version: number; force?: true }) =>
      withSession(program, async ({ runtime }) => {
        if (!Number.isSafeInteger(version)) throw new UsageError('--version must be a number.');
        await runtime.projections.maintenance.drop(name, version, force);
        return { dropped: name, version };
      }),
    );
}

type Options = Required<Pick<BuildOptions, 'onProgress' | 'onUnreadable' | 'signal'>>;

const MOST_SHOWN = 20;

/** Shows progress as positions of the history. @returns also how many events were skipped, which are listed as errors. */
async function shown<Result>(
  work: (options: Options) => Promise<Result>,
): Promise<{ result: Result; count: number }> {
  let [done, total] = [0, 1];
  const skipped: string[] = [];
  let count = 0;
  const progress = new Progress('positions', () => ({ count: done, done, total }));
  try {
    const result = await work({
      onUnreadable: ({ message }) => {
        count += 1;
        if (skipped.length < MOST_SHOWN) skipped.push(message);
      },
      onProgress: (position, upTo) => ([done, total] = [position, Math.max(upTo, 1)]),
      signal: interruptible(),
    });
    return { result, count };
  } finally {
    progress.stop();
    for (const message of skipped) process.stderr.write(`Skipped: ${message}.\n`);
    if (count > 0) process.exitCode = 1;
  }
}
