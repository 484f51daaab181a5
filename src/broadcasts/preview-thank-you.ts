import { handlerOf, Operation, RecordInput, recordSchema } from '#libs/rpc';
import { TranslationLanguage } from '../petitions/index.js';
import { MessageBuilder } from './message-builder.js';
import { ThankYouLetters } from './thank-you-letters.js';

@Operation({
  name: 'petition.preview-thank-you',
  object: 'preview',
  summary: 'Preview a thank-you email',
  description: 'Returns the subject, HTML and plain text as a signer without any details would receive them.',
  answers: recordSchema({
    petitionId: { type: 'string' },
    subject: { type: 'string' },
    html: { type: 'string' },
    text: { type: 'string' },
  }),
  reasons: ['NO_THANK_YOU_MAIL', 'BROADCAST_NOT_READY'],
})
export class PreviewThankYou extends RecordInput('petitionId') {
  @TranslationLanguage()
  language?: string;
}

export const PreviewThankYouHandler = handlerOf(
  PreviewThankYou,
  [ThankYouLetters, MessageBuilder],
  async ({ organizationId, petitionId, language }, letters, messageBuilder) => {
    // Blockers to sending, such as a missing sender, do not prevent a preview.
    const writing = await letters.require(organizationId, petitionId, language, [
      'NO_SENDER',
      'NO_PUBLIC_URL',
    ]);
    const { subject, html, text } = await messageBuilder.show(writing, null, []);
    return { petitionId, subject, html, text };
  },
);
