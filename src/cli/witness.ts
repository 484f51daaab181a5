import { type Command } from 'commander';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, isIPv6 } from 'node:net';
import { describeError } from '#libs/database';
import { Witness, WitnessKey, witnessServer, WitnessState } from '../audit/index.js';
import { keyOf } from './outside.js';
import { interruptible, path, UsageError } from './session.js';

type Options = { listen?: string; key: string; state?: string; log?: string[]; makeKey?: string };

export function witnessCommand(program: Command): void {
  const command = program
    .command('witness')
    .description(
      'cosign the checkpoints of servers that contradict no earlier checkpoint (C2SP tlog-witness)',
    )
    .requiredOption('--key <file>', 'the file with the private key of the witness', path)
    .option(
      '--make-key <name>',
      'create that file, for a witness with this name (such as w.example.org/1), and exit',
    )
    .option(
      '--listen <[host:]port>',
      'serve POST /add-checkpoint on this address; use 0.0.0.0:port to accept remote requests',
    )
    .option(
      '--state <directory>',
      'the state of each log; one process per directory; never lose it or roll it back',
      path,
    )
    .option('--log <key...>', 'verifier keys of the servers to cosign for, or files that contain them')
    .addHelpText(
      'after',
      `
Needs no database. Someone else should run it, on a different machine from the server. With --make-key, prints { "verifierKey" }, which
auditors pass to history verify. With --listen, also prints { "listening" }, and a line of JSON on standard error for each
rejected checkpoint. A 409 or 422 can mean that the server signed two histories.`,
    )
    .action(async (options: Options) => {
      try {
        await (options.makeKey === undefined ? listen(options) : makeKey(options, options.makeKey));
      } catch (error) {
        if (error instanceof UsageError) command.error(`error: ${error.message}`);
        process.stderr.write(`${describeError(error)}\n`);
        process.exitCode = 1;
      }
    });
}

async function makeKey({ key: file }: Options, name: string): Promise<void> {
  const key = WitnessKey.make(name);
  await writeFile(file, key.text, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new UsageError(`${file} already exists and was not overwritten.`);
    throw error;
  });
  print({ verifierKey: key.verifierKey });
}

async function listen({ listen: address, key: file, state, log }: Options): Promise<void> {
  if (address === undefined || state === undefined || log === undefined) {
    throw new UsageError('a witness requires --listen, --state and --log (or --make-key to create its key)');
  }
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(address) ?? [];
  if (port === undefined) throw new UsageError('--listen must be a port or host:port');
  const key = WitnessKey.read(await readFile(file, 'utf8'));
  const witness = new Witness(key, await WitnessState.open(state), await verifierKeys(log));
  const server = witnessServer(witness, (line) => {
    process.stderr.write(`${JSON.stringify({ time: new Date(), ...line })}\n`);
  });
  const signal = interruptible();
  server.listen(Number(port), host.replace(/^\[(.*)\]$/, '$1'));
  await once(server, 'listening');
  const at = server.address() as AddressInfo;
  const shown = isIPv6(at.address) ? `[${at.address}]` : at.address;
  print({ verifierKey: key.verifierKey, listening: `http://${shown}:${at.port}` });
  if (!signal.aborted) await once(signal, 'abort');
  // Requests in flight are finished.
  server.close();
  server.closeIdleConnections();
  await once(server, 'close');
}

/** A file can contain several keys, one per line. */
async function verifierKeys(given: readonly string[]): Promise<string[]> {
  const keys = await Promise.all(given.map(keyOf));
  return keys.flatMap((text) => text.split('\n')).filter((line) => line.trim() !== '');
}

function print(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
