import { type Command } from 'commander';
import { UsageError, withSession } from './session.js';

export function subscriptionsCommands(program: Command): void {
  const subscriptions = program
    .command('subscriptions')
    .description('look at what reacts to the history, and try again or give up what failed');
  subscriptions
    .command('status')
    .description('how far each reaction is, and which events it failed at')
    .addHelpText(
      'after',
      '\nPrints [{ "name", "position", "lag", "retrying", "parked", "parkedEvents": [{ "position", "organizationId", "at", "reason" }] }]: ' +
        'what is retried comes by itself, what is parked (the first hundred are listed) has failed eight times.',
    )
    .action(() => withSession(program, ({ runtime }) => runtime.subscriptions.status()));
  subscriptions
    .command('retry')
    .description('try again, from the first attempt on, what a reaction failed at')
    .argument('<name>', 'its name, as status prints it')
    .option('--position <number>', 'only this event')
    .addHelpText('after', '\nPrints { "retrying" }, the number of events. Servers try them within a second.')
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
    .description('give up an event that a reaction failed at: it is never reacted to')
    .argument('<name>', 'its name, as status prints it')
    .requiredOption('--position <number>', 'the event')
    .addHelpText('after', '\nPrints { "skipped" }: false if there is no such event among those that failed.')
    .action((name: string, { position }: { position: string }) =>
      withSession(program, async ({ runtime }) => ({
        skipped: await runtime.subscriptions.skip(name, positionIn(position)),
      })),
    );
}

function positionIn(text: string): number {
  const position = Number(text);
  if (!Number.isSafeInteger(position) || position < 1)
    throw new UsageError('--position must be a positive number.');
  return position;
}
