import { type Command } from 'commander';
import { type ReplayWebhook } from '../webhooks/index.js';
import { UsageError, withSession } from './session.js';

type ReplayOptions = { organization: string; fromPosition?: string; from?: string };

export function webhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('send what webhooks were told again');
  webhook
    .command('replay')
    .description(
      'send the history of an organization to a webhook again, each event with the webhook-id it had',
    )
    .argument('<id>', 'the webhook')
    .requiredOption('--organization <id>', 'whose webhook it is')
    .option('--from-position <number>', 'events after this position; 0: the whole history')
    .option('--from <time>', 'events of this moment and all later ones, such as 2026-11-20T09:30:00Z')
    .addHelpText(
      'after',
      '\nPrints the webhook. Servers begin within a second; what was not sent yet is not left out. Run twice, it begins twice.',
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

/** @throws UsageError unless exactly one is given. */
async function beginningIn({
  fromPosition,
  from,
}: ReplayOptions): Promise<Pick<ReplayWebhook, 'fromPosition' | 'from'>> {
  if ((fromPosition === undefined) === (from === undefined)) {
    throw new UsageError('Give either --from-position or --from.');
  }
  if (from !== undefined) {
    const { isMoment } = await import('#libs/rpc');
    if (!isMoment(from)) throw new UsageError('--from must be a time, such as 2026-11-20T09:30:00Z.');
    return { from };
  }
  const position = /^\d{1,16}$/.test(fromPosition!) ? Number(fromPosition) : NaN;
  if (!Number.isSafeInteger(position)) throw new UsageError('--from-position must be a number, 0 or more.');
  return { fromPosition: position };
}
