import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { environmentOf, type Environment, NO_ENV, type Result } from './processes.js';

let host: ChildProcess | undefined;
afterAll(() => host?.kill('SIGKILL'));

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command like `cli`, but all commands of a test file one after another in one process. For tests that are not about
 * the process. Some test runs one command of each group with `cli`, too.
 */
export function command(args: readonly string[], environment: Environment): Promise<Result> {
  const result = last.then(() => ask(args, environment));
  last = result.catch(() => undefined);
  return result;
}

function ask(args: readonly string[], environment: Environment): Promise<Result> {
  host ??= fork(join(__dirname, 'command-host.mjs'), { cwd: NO_ENV, env: environmentOf({}) });
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`The process of all commands ended in: ${args.join(' ')}`));
    host!.once('exit', onExit);
    host!.once('message', (result: Result) => {
      host!.off('exit', onExit);
      resolve(result);
    });
    host!.send({ args, environment: environmentOf(environment) });
  });
}
