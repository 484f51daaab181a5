import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { environmentOf, type Environment, NO_ENV, type Result } from './processes.js';

/** One per Jest worker, because loading the program takes more than two seconds. Globals persist from file to file. */
const worker = globalThis as { commandHost?: ChildProcess };
let pending = 0;
// If a failed test did not wait for its command, the next file must not get that command's result.
afterAll(() => {
  if (pending === 0) return;
  worker.commandHost?.kill('SIGKILL');
  worker.commandHost = undefined;
});

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command like `cli`, but all commands of a Jest worker one after another in one process. For tests that are not about
 * the process: `cli` runs a command in its own.
 */
export function command(
  args: readonly string[],
  environment: Environment,
  directory = NO_ENV,
): Promise<Result> {
  pending += 1;
  const result = last.then(() => ask(args, environment, directory)).finally(() => (pending -= 1));
  last = result.catch(() => undefined);
  return result;
}

function ask(args: readonly string[], environment: Environment, directory: string): Promise<Result> {
  const host = (worker.commandHost ??= start());
  // The idle process must not keep the worker alive.
  host.ref();
  host.channel!.ref();
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`The process of all commands ended in: ${args.join(' ')}`));
    host.once('exit', onExit);
    host.once('message', (result: Result) => {
      host.off('exit', onExit);
      host.unref();
      host.channel?.unref();
      resolve(result);
    });
    host.send({ args, environment: environmentOf(environment), directory });
  });
}

function start(): ChildProcess {
  const host = fork(join(__dirname, '../dist/bundle/command-host.js'), {
    cwd: NO_ENV,
    env: environmentOf({}),
  });
  host.once('exit', () => {
    if (worker.commandHost === host) worker.commandHost = undefined;
  });
  return host;
}
