import { type Command } from 'commander';
import { UsageError, withSession } from './session.js';

export function subscriptionsCommands(program: Command): void {
  const subscriptions = program
    .command('subscriptions')
    .description('show background work, and retry or skip failed events');
  subscriptions
    .command('status')
    .description('show the progress and the failed events of each subscription')
    .addHelpText(
      'after',
      '\nPrints [{ "name", "position", "lag", "retrying", "parked", "parkedEvents": [{ "position", "organizationId", "at", "reason" }] }]: ' +
        'retrying ' +
        'events are retried automatically. Parked events (dead letters) have failed eight times; the first hundred are listed.',
    )
    .action(() => withSession(program, ({ runtime }) => runtime.subscriptions.status()));
  subscriptions
    .command('retry')
    .description('retry failed events, starting with the first attempt')
    .argument('<name>', 'the subscription, as listed by status')
    .option('--position <number>', 'only this event')
    .addHelpText(
      'after',
      '\nPrints { "retrying" }, the number of events. Servers retry them within a second.',
    )
    .action((name: string, { position }: { position?: string }) =>
      withSession(program, async ({ runtime }) => ({
        retrying: await runtime.subscriptions.retry(
          name,
          position === undefined ? undefined : positionIn(position),
        ),
      })),
    );
  subscriptions
    .command('skip')
    .description('skip a failed event for good')
    .argument('<name>', 'the subscription, as listed by status')
    .requiredOption('--position <number>', 'the position of the event')
    .addHelpText('after', '\nPrints { "skipped" }: false if no failed event has this position.')
    .action((name: string, { position }: { position: string }) =>
      withSession(program, async ({ runtime }) => ({
        skipped: await runtime.subscriptions.skip(name, positionIn(position)),
      })),
    );
}

function positionIn(text: string): number {
  const position = Number(text);
  if (!Number.isSafeInteger(position) || position < 1)
    throw new UsageError('--position must be a positive whole number.');
  return position;
}
