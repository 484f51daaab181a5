import { type Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL, isId, parseVerifierKey } from '#libs/verify';
import { LogClient, Monitor, NotAnswered } from '../audit/index.js';
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

export function monitorCommand(history: Command): void {
  const command = history
    .command('monitor')
    .description('watch a server from outside: does its history continue what it showed before?')
    .requiredOption('--url <url>', 'the server, such as https://api.example.org', urlOf)
    .requiredOption('--key <key>', 'its verifier key, a previous one, or a file that contains one')
    .requiredOption('--state <file>', 'stores the last checkpoint seen; never lose it', path)
    .option(
      '--organization <id>',
      'the organization, or all for the log of all organizations (default: the one in the key, if any)',
    )
    .option(
      '--api-key-file <file>',
      'an API key with the scope history:read; not needed if the log is public',
      path,
    )
    .option('--every <seconds>', 'time between two checks', secondsOf, 60)
    .option('--once', 'check once and exit')
    .addHelpText(
      'after',
      `
Needs no database. Run it on a different machine from the server. It verifies the signature of each checkpoint and, with the server's
tiles, that the history begins with what was seen before. The first check only stores the checkpoint. Prints
{ "time", "size", "position", "sealedAt" } for each new checkpoint; with --once, for the current one in any case.
If the server shows another or a shorter history, exits with status 1 and prints both signed checkpoints on standard error, as
evidence. For the register of checkpoints (organization 00000000-0000-0000-0000-000000000001), it also reads new entries, at most once
an hour, and reports two that contradict each other. If the server does not respond, reports this once and continues. Exits with status 2 if it cannot watch at all or, with
--once, if the check was not possible.`,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  command.action(async (options: Options) => {
    const signal = interruptible();
    try {
      const key = await keyOf(options.key);
      const organizationId = options.organization ?? parseVerifierKey(key).name.split('/')[1] ?? '';
      if (!isId(organizationId) && organizationId !== ALL.name) {
        command.error('error: --organization must be the id of an organization, or all');
      }
      const client = new LogClient(options.url, organizationId, await apiKeyOf(options.apiKeyFile), signal);
      await watch(new Monitor(client, organizationId, key, options.state), options, signal);
    } catch (error) {
      if (!signal.aborted) nothingCompared(error);
    }
  });
}

async function watch(monitor: Monitor, { every, once }: Options, signal: AbortSignal): Promise<void> {
  const reachability = new Reachability();
  for (;;) {
    try {
      const look = await monitor.look();
      reachability.answered();
      if (look.isAlarm) {
        process.stderr.write(`${look.sentence}\n`);
        for (const note of look.notes) process.stderr.write(`\n${note}`);
        process.exitCode = 1;
        return;
      }
      const { size, position, sealedAt } = look.checkpoint;
      if (look.isNew || once) log(process.stdout, { size, position, sealedAt });
    } catch (error) {
      if (once || !(error instanceof NotAnswered)) throw error;
      reachability.failed(error.message);
    }
    if (once) return;
    await sleep(every * 1_000, undefined, { signal });
  }
}

/** Reports once that a server does not respond, when the reason changes, and when it responds again. */
class Reachability {
  private reason: string | undefined;
  private since = new Date();

  failed(reason: string): void {
    if (this.reason === undefined) this.since = new Date();
    if (this.reason !== reason)
      log(process.stderr, { message: 'nothing could be compared; the monitor continues', reason });
    this.reason = reason;
  }

  answered(): void {
    if (this.reason === undefined) return;
    log(process.stderr, { message: 'the server responds again', since: this.since });
    this.reason = undefined;
  }
}

function log(stream: NodeJS.WriteStream, fields: object): void {
  stream.write(`${JSON.stringify({ time: new Date(), ...fields })}\n`);
}
