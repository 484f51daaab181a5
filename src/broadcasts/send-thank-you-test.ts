import { Requests } from '#libs/commands';
import { Emails, handlerOf, Operation, RecordInput, recordSchema } from '#libs/rpc';
import { TranslationLanguage } from '../petitions/index.js';
import { testOutcomes, TestMails } from './test-mails.js';
import { ThankYouLetters } from './thank-you-letters.js';

@Operation({
  name: 'petition.send-thank-you-test',
  object: 'test',
  summary: 'Send a test of a thank-you email',
  description:
    'Sends the email that signers of the petition receive to 1 to 10 addresses, like `broadcast.send-test`. Signers ' +
    'receive nothing. Without an `Idempotency-Key`, repeating the request sends the test again.',
  scope: 'broadcast:send',
  answers: recordSchema({ petitionId: { type: 'string' }, outcomes: testOutcomes }),
  reasons: ['NO_THANK_YOU_MAIL', 'BROADCAST_NOT_READY'],
})
export class SendThankYouTest extends RecordInput('petitionId') {
  @TranslationLanguage()
  language?: string;

  @Emails({ max: 10, example: ['ada@example.org'] })
  to!: string[];
}

export const SendThankYouTestHandler = handlerOf(
  SendThankYouTest,
  [Requests, ThankYouLetters, TestMails],
  (command, requests, letters, tests) => {
    const { organizationId, petitionId, language, to } = command;
    return requests.runOutside(command, async () => {
      const writing = await letters.require(organizationId, petitionId, language, ['NO_PUBLIC_URL']);
      return { petitionId, outcomes: await tests.send(writing, to) };
    });
  },
);
