import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { newId } from '#libs/random';
import { OneOf, Operation, RecordInput, recordSchema } from '#libs/rpc';
import { existingPetition, petition } from './petition.js';
import { RETRIED_STATUSES, type ThankYouCounts, thankYouCounts, ThankYouMails } from './thank-you-mails.js';

/** Emails per request: each is an event. */
const MAX_EMAILS = 500;

export type ThankYouMailRetriedEvent = {
  type: 'ThankYouMailRetried';
  /** `attempts`: how often it had been attempted before, so that each retry sends at most one email. */
  data: { petitionId: string; signatureId: string; attempts: number };
};

/** A thank-you email is to be sent again. Each retry has its own stream, which is not a record and has no state. */
export const thankYouRetry = {
  streamType: 'thank-you-retry',
  events: { ThankYouMailRetried: true },
  isInternal: true,
} as const satisfies Pick<Decider<never, ThankYouMailRetriedEvent>, 'streamType' | 'events' | 'isInternal'>;

@Operation({
  name: 'petition.retry-thank-you-mails',
  object: 'petition',
  summary: 'Retry failed or in-doubt thank-you emails',
  description:
    'Sends the thank-you emails with the given outcome again, like `broadcast.retry-recipients`. `FAILED` emails were rejected by ' +
    'the mail server. `IN_DOUBT` emails may have been delivered, so signers may get them twice. A request retries ' +
    `${MAX_EMAILS} emails at most: repeat it until none are left. Withdrawn signatures and suppressed addresses are skipped.`,
  scope: 'broadcast:send',
  answers: recordSchema({ petitionId: { type: 'string' }, thankYouMails: thankYouCounts }),
})
export class RetryThankYouMails extends RecordInput('petitionId') {
  @OneOf(RETRIED_STATUSES)
  status!: (typeof RETRIED_STATUSES)[number];
}

@CommandHandler(RetryThankYouMails)
export class RetryThankYouMailsHandler implements ICommandHandler<RetryThankYouMails> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly mails: ThankYouMails,
  ) {}

  async execute(
    command: RetryThankYouMails,
  ): Promise<{ petitionId: string; thankYouMails: ThankYouCounts | null }> {
    const { organizationId, petitionId, status } = command;
    let retried: Awaited<ReturnType<ThankYouMails['find']>> = [];
    await this.commands.run(command, async () => {
      existingPetition((await this.records.load(petition, organizationId, petitionId)).state);
      retried = await this.mails.find(organizationId, petitionId, status, MAX_EMAILS);
      const writes = retried.map(({ signatureId, attempts }) => ({
        streamType: thankYouRetry.streamType,
        streamId: newId(),
        expectedVersion: 0,
        events: [{ type: 'ThankYouMailRetried' as const, data: { petitionId, signatureId, attempts } }],
      }));
      return { recordId: petitionId, writes };
    });
    // The events first: after a crash, they still find the emails with their previous outcome.
    if (retried.length > 0) await this.mails.await(organizationId, retried);
    return { petitionId, thankYouMails: await this.mails.count(organizationId, petitionId) };
  }
}
