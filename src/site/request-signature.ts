import { handlerOf, Id, OneOf, Operation, recordSchema, Text } from '#libs/rpc';
import { APPEARANCES, type Appearance } from '../petitions/index.js';
import { Submission, Submissions } from './submissions.js';

@Operation({
  name: 'petition.request-signature',
  scope: 'signature:request',
  object: 'signature-request',
  summary: 'Request a signature',
  description:
    'Does what the form on the petition’s page does, with the same checks, for a form on your own website. Send it from the ' +
    'browser with a publishable key. The person gets an email to confirm the signature, unless `confirmation` of the ' +
    'petition is `NONE`. The response is the same whether they have signed before or not.',
  answers: recordSchema({
    petitionId: { type: 'string' },
    confirmation: {
      type: 'string',
      enum: ['EMAIL', 'NONE'],
      description: '`EMAIL`: tell the person to open the link in the email.',
    },
  }),
  reasons: ['PETITION_CLOSED'],
})
export class SendSignature extends Submission {
  @Id()
  petitionId!: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  comment?: string | null;

  @OneOf(APPEARANCES, {
    optional: true,
    documentedDefault: 'NONE',
    description:
      'How the petition’s page names the person next to the comment. `NONE`: the comment is not public.',
  })
  appearance?: Appearance;

  @Text({ max: 100, optional: true, description: 'The `via` of the share link that led the person there.' })
  via?: string;

  @Text({
    max: 35,
    optional: true,
    example: 'de',
    description:
      'The language of your page, if the petition has a translation in it. The person gets the emails in this language. ' +
      'Default: the petition’s own.',
  })
  language?: string;
}

export const SendSignatureHandler = handlerOf(SendSignature, [Submissions], async (command, submissions) => {
  const { petitionId, comment, appearance, via, language } = command;
  const more = { comment, appearance, via };
  return {
    petitionId,
    ...(await submissions.submit('petitions', petitionId, command, more, language)),
  };
});
