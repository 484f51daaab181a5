import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordReader, Requests } from '#libs/commands';
import { Emails, Operation, RecordInput, recordSchema } from '#libs/rpc';
import { broadcast, existingBroadcast } from './broadcast.js';
import { MessageBuilder, notReady } from './message-builder.js';
import { testOutcomes, TestMails, type TestOutcome } from './test-mails.js';

type TestAnswer = { broadcastId: string; outcomes: TestOutcome[] };

@Operation({
  name: 'broadcast.send-test',
  summary: 'Send a test of a broadcast',
  description:
    'Sends the message immediately to 1 to 10 addresses, which need not belong to contacts. It is rendered for a ' +
    "contact without any details, and its subject starts with `[Test]`. Returns the mail server's response for " +
    'each address, in the order given. Tests do not appear in the history. Without an `Idempotency-Key`, ' +
    'repeating the request sends the test again.',
  scope: 'broadcast:send',
  answers: recordSchema({
    broadcastId: { type: 'string' },
    outcomes: testOutcomes,
  }),
  reasons: ['BROADCAST_NOT_READY'],
})
export class SendTest extends RecordInput('broadcastId') {
  @Emails({ max: 10, example: ['ada@example.org'] })
  to!: string[];
}

@CommandHandler(SendTest)
export class SendTestHandler implements ICommandHandler<SendTest> {
  constructor(
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly messageBuilder: MessageBuilder,
    private readonly tests: TestMails,
  ) {}

  execute(command: SendTest): Promise<TestAnswer> {
    return this.requests.runOutside(command, () => this.send(command));
  }

  private async send({ organizationId, broadcastId, to }: SendTest): Promise<TestAnswer> {
    const { state } = await this.records.look(broadcast, organizationId, broadcastId);
    const fields = existingBroadcast(state);
    const { writing, blockers } = await this.messageBuilder.prepare(organizationId, broadcastId, fields);
    if (!writing || blockers.some(({ blocker }) => blocker === 'NO_SENDER')) throw notReady(blockers);
    return { broadcastId, outcomes: await this.tests.send(writing, to) };
  }
}
