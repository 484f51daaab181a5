import { Injectable } from '@nestjs/common';
import { Mailer } from '#libs/mail';
import { newId } from '#libs/random';
import { recordSchema } from '#libs/rpc';
import { MessageBuilder, type MessageTemplate } from './message-builder.js';

export type TestOutcome = { number: number; sent: boolean; detail: string };

export const testOutcomes = {
  type: 'array',
  items: recordSchema({
    number: { type: 'integer', description: 'The position of the address in the request, starting at 1.' },
    sent: { type: 'boolean' },
    detail: { type: 'string' },
  }),
};

/** Sends messages to addresses that need not belong to contacts. */
@Injectable()
export class TestMails {
  constructor(
    private readonly messageBuilder: MessageBuilder,
    private readonly mailer: Mailer,
  ) {}

  /** The mail server's response for each address. @throws RpcError CONFLICT if the template fails. */
  async send(writing: MessageTemplate, to: readonly string[]): Promise<TestOutcome[]> {
    const letter = await this.messageBuilder.show(writing, null, []);
    const test = { ...letter, subject: `[Test] ${letter.subject}` };
    return Promise.all(
      to.map(async (address, n) => {
        const id = `test.${newId()}`;
        const { outcome, detail } = await this.mailer.send(
          this.messageBuilder.message(writing, test, address, id),
        );
        return { number: n + 1, sent: outcome === 'sent', detail };
      }),
    );
  }
}
