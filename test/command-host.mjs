/**
 * Runs commands of the command line one after another in this one process, as `command` of `commands.ts` asks for them: to
 * load the program takes many times as long as most commands.
 */
import { Writable } from 'node:stream';
import { commandLine } from '../dist/src/cli/index.js';

class Exit extends Error {}

/** Commands listen for signals until their process ends. */
process.setMaxListeners(0);

async function run(args, environment) {
  const said = { stdout: [], stderr: [] };
  for (const name of ['stdout', 'stderr']) {
    const write = (chunk, _, done) => {
      said[name].push(chunk);
      done();
    };
    Object.defineProperty(process, name, { value: new Writable({ write }), configurable: true });
  }
  process.env = environment;
  process.exitCode = undefined;
  process.exit = (status) => {
    process.exitCode = status;
    throw new Exit();
  };
  try {
    await commandLine('npm run -s cli --').parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof Exit)) {
      said.stderr.push(Buffer.from(error.stack));
      process.exitCode = 1;
    }
  }
  const [stdout, stderr] = [said.stdout, said.stderr].map((chunks) => Buffer.concat(chunks).toString());
  return { status: process.exitCode ?? 0, signal: null, stdout, stderr };
}

process.on('message', async ({ args, environment }) => {
  process.send(await run(args, environment));
  process.exitCode = 0;
});
