import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordReader, Requests } from '#libs/commands';
import { Mailer } from '#libs/mail';
import { newId } from '#libs/random';
import { Emails, Id, Input, Operation, recordSchema } from '#libs/rpc';
import { broadcast, existingBroadcast } from './broadcast.js';
import { MessageBuilder, notReady } from './message-builder.js';

type TestAnswer = {
  broadcastId: string;
  outcomes: { number: number; sent: boolean; detail: string }[];
};

@Operation({
  method: 'POST',
  name: 'broadcast.send-test',
  object: 'test',
  summary: 'Send a test of a broadcast',
  description:
    'Sends the message immediately to 1 to 10 addresses, which need not belong to contacts. It is rendered for a ' +
    "contact without any details, and its subject starts with `[Test]`. Returns the mail server's response for " +
    'each address, in the order given. Tests do not appear in the history. Without an `Idempotency-Key`, ' +
    'repeating the request sends the test again.',
  scope: 'broadcast:send',
  answers: recordSchema({
    broadcastId: { type: 'string' },
    outcomes: {
      type: 'array',
      items: recordSchema({
        number: {
          type: 'integer',
          description: 'The position of the address in the request, starting at 1.',
        },
        sent: { type: 'boolean' },
        detail: { type: 'string' },
      }),
    },
  }),
  reasons: ['BROADCAST_NOT_READY'],
})
export class SendTest extends Input {
  @Id()
  broadcastId!: string;

  @Emails({ max: 10, example: ['ada@example.org'] })
  to!: string[];
}

@CommandHandler(SendTest)
export class SendTestHandler implements ICommandHandler<SendTest> {
  constructor(
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly messageBuilder: MessageBuilder,
    private readonly mailer: Mailer,
  ) {}

  execute(command: SendTest): Promise<TestAnswer> {
    return this.requests.runOutside(command, () => this.send(command));
  }

  private async send({ organizationId, broadcastId, to }: SendTest): Promise<TestAnswer> {
    const { state } = await this.records.look(broadcast, organizationId, broadcastId);
    const fields = existingBroadcast(state);
    const { writing, blockers } = await this.messageBuilder.prepare(organizationId, broadcastId, fields);
    if (!writing || blockers.some(({ blocker }) => blocker === 'NO_SENDER')) throw notReady(blockers);
    const letter = await this.messageBuilder.show(writing, null, []);
    const test = { ...letter, subject: `[Test] ${letter.subject}` };
    const outcomes = await Promise.all(
      to.map(async (address, n) => {
        const message = this.messageBuilder.message(writing, test, address, `test.${broadcastId}.${newId()}`);
        const { outcome, detail } = await this.mailer.send(message);
        return { number: n + 1, sent: outcome === 'sent', detail };
      }),
    );
    return { broadcastId, outcomes };
  }
}
