import { type Command } from 'commander';
import { type ReplayWebhook } from '../webhooks/index.js';
import { positionIn } from './listen.js';
import { UsageError, withSession } from './session.js';

type ReplayOptions = { organization: string; fromPosition?: string; from?: string };

export function webhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('send past events to webhooks again');
  webhook
    .command('replay')
    .description('send past events to a webhook again, each with its original webhook-id')
    .argument('<id>', 'the id of the webhook')
    .requiredOption('--organization <id>', 'the organization of the webhook')
    .option('--from-position <number>', 'events after this position; 0 for the whole history')
    .option('--from <time>', 'events from this time on, such as 2026-11-20T09:30:00Z')
    .addHelpText(
      'after',
      '\nPrints the webhook. Delivery starts within a second. Events that were not sent yet are still sent. If you run this ' +
        'command twice, the events are sent twice.',
    )
    .action((webhookId: string, options: ReplayOptions) =>
      withSession(program, async ({ input, run, requireOrganization }) => {
        const { organization } = options;
        const beginning = await beginningIn(options);
        await requireOrganization(organization);
        const { ReplayWebhook } = await import('../webhooks/index.js');
        return run(input(ReplayWebhook, organization, { webhookId, ...beginning }));
      }),
    );
}

/** @throws UsageError unless exactly one option is set. */
async function beginningIn({
  fromPosition,
  from,
}: ReplayOptions): Promise<Pick<ReplayWebhook, 'fromPosition' | 'from'>> {
  if ((fromPosition === undefined) === (from === undefined)) {
    throw new UsageError('Use either --from-position or --from.');
  }
  if (from !== undefined) {
    const { isMoment } = await import('#libs/rpc');
    if (!isMoment(from)) throw new UsageError('--from must be a time, such as 2026-11-20T09:30:00Z.');
    return { from };
  }
  return { fromPosition: positionIn(fromPosition)! };
}
