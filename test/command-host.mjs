/**
 * Runs command lines for `command` of `commands.ts` one after another in this process, because loading the program takes many
 * times as long as most commands, also from the bundle (scripts/bundle.mjs). It ends when the Jest worker disconnects or ends.
 */
import { Writable } from 'node:stream';
import { commandLine } from '../dist/src/cli/index.js';

class Exit extends Error {}

/** Each command adds signal listeners that stay until the process ends. */
process.setMaxListeners(0);

async function run(args, environment) {
  const output = { stdout: [], stderr: [] };
  for (const name of ['stdout', 'stderr']) {
    const write = (chunk, _, done) => {
      output[name].push(chunk);
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
      output.stderr.push(Buffer.from(error.stack));
      process.exitCode = 1;
    }
  }
  const [stdout, stderr] = [output.stdout, output.stderr].map((chunks) => Buffer.concat(chunks).toString());
  return { status: process.exitCode ?? 0, signal: null, stdout, stderr };
}

// Commands replace process.exit.
const { exit } = process;
process.once('disconnect', () => exit.call(process));
process.on('message', async ({ args, environment, directory }) => {
  process.chdir(directory);
  process.send(await run(args, environment));
  process.exitCode = 0;
});
