import { type Command } from 'commander';
import { interruptible, withSession } from './session.js';
import { Progress } from './progress.js';

export function projectionCommands(program: Command): void {
  const projections = program
    .command('projections')
    .description('look at, rebuild and verify the read models');
  projections
    .command('status')
    .description('how far each read model is, and which fails, where and why')
    .addHelpText('after', '\nPrints [{ "name", "version", "position", "lag", "failure" }].')
    .action(() => withSession(program, ({ runtime }) => runtime.projections.status()));
  projections
    .command('rebuild')
    .description(
      'build a read model anew from the history, and put it in place of the old one, while servers run',
    )
    .argument('<name>', 'its name, as status prints it')
    .addHelpText('after', '\nPrints { "rebuilt" }. Ctrl-C leaves the old one in place.')
    .action((name: string) =>
      withSession(program, async ({ runtime }) => {
        await shown((options) => runtime.projections.rebuild(name, options));
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
        const differences = await shown((options) => runtime.projections.verify(name, options));
        if (differences.length > 0) process.exitCode = 1;
        return { differences };
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
