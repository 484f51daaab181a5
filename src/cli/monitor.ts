import { type Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL, isId, LogClient, Monitor, NotAnswered, parseVerifierKey } from '../history/verify/index.js';
import { apiKeyOf, keyOf, nothingCompared, secondsOf, urlOf } from './outside.js';
import { interruptible, path } from './session.js';

type Options = {
  url: string;
  key: string;
  state: string;
  organization?: string;
  apiKeyFile?: string;
  every: number;
  once?: true;
};

/** Adds `monitor` to the commands of `history`. */
export function monitorCommand(history: Command): void {
  const command = history
    .command('monitor')
    .description('watch a server from outside: does its history go on from what it showed before?')
    .requiredOption('--url <url>', 'the server, such as https://api.example.org', urlOf)
    .requiredOption(
      '--key <key>',
      'its verifier key, or one whose place that has taken, or a file that holds it',
    )
    .requiredOption('--state <file>', 'keeps the checkpoint that was seen last; never to be lost', path)
    .option(
      '--organization <id>',
      'whose history, all for the log of all organizations; left out, that of the key, where it is of one',
    )
    .option(
      '--api-key-file <file>',
      'a key of the server’s with the scope history:read; none where the log is public',
      path,
    )
    .option('--every <seconds>', 'from one look to the next', secondsOf, 60)
    .option('--once', 'look once, and end')
    .addHelpText(
      'after',
      `
Needs no database. Let it run on another machine than the server. Checks the signature of each checkpoint, and by tiles of the
server that its history begins with what was seen before; prints { "time", "size", "position", "sealedAt" } of each new one. Ends with
status 1 if the server shows another history, or a shorter one: both signed checkpoints are on standard error then, which is
evidence. Where the server does not answer it says so, once, and goes on. Ends with 2 if it cannot watch at all, and with --once
if nothing could be compared.`,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  command.action(async (options: Options) => {
    const signal = interruptible();
    try {
      const key = await keyOf(options.key);
      const organizationId = options.organization ?? parseVerifierKey(key).name.split('/')[1] ?? '';
      if (!isId(organizationId) && organizationId !== ALL.name) {
        command.error('error: --organization takes the id of an organization, or all');
      }
      const client = new LogClient(options.url, organizationId, await apiKeyOf(options.apiKeyFile), signal);
      await watch(new Monitor(client, organizationId, key, options.state), options, signal);
    } catch (error) {
      if (!signal.aborted) nothingCompared(error);
    }
  });
}

async function watch(monitor: Monitor, { every, once }: Options, signal: AbortSignal): Promise<void> {
  const answering = new Answering();
  for (;;) {
    try {
      const look = await monitor.look();
      answering.answered();
      if (look.isAlarm) {
        process.stderr.write(`${look.sentence}\n`);
        for (const note of look.notes) process.stderr.write(`\n${note}`);
        process.exitCode = 1;
        return;
      }
      const { size, position, sealedAt } = look.checkpoint;
      if (look.isNew || once) tell(process.stdout, { size, position, sealedAt });
    } catch (error) {
      if (once || !(error instanceof NotAnswered)) throw error;
      answering.failed(error.message);
    }
    if (once) return;
    await sleep(every * 1_000, undefined, { signal });
  }
}

/** Says that a server does not answer, or why otherwise than before, and that it does again: a line each. */
class Answering {
  private reason: string | undefined;
  private since = new Date();

  failed(reason: string): void {
    if (this.reason === undefined) this.since = new Date();
    if (this.reason !== reason)
      tell(process.stderr, { message: 'nothing could be compared; goes on', reason });
    this.reason = reason;
  }

  answered(): void {
    if (this.reason === undefined) return;
    tell(process.stderr, { message: 'the server answers again', since: this.since });
    this.reason = undefined;
  }
}

function tell(stream: NodeJS.WriteStream, fields: object): void {
  stream.write(`${JSON.stringify({ time: new Date(), ...fields })}\n`);
}
