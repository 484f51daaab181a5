import { Flag, invalid, Nested, recordSchema, Text, textOrNull, WebAddress } from '#libs/rpc';
import { PetitionFieldsInput } from './petition-fields.js';
import { type PetitionFields, type ThankYou } from './petition.js';

/** The most characters of the email. Lists return it. */
const MAX_MAIL = 20_000;

export class ThankYouInput {
  @Text({ max: 200, optional: true, nullable: true, description: 'Default: in the language of the page.' })
  title?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true, description: 'Markdown.' })
  text?: string | null;

  @WebAddress({
    max: 2_000,
    optional: true,
    nullable: true,
    example: 'https://example.org/donate',
    description: 'What signers can do next. Sent together with `nextLabel`.',
  })
  nextUrl?: string | null;

  @Text({
    max: 100,
    optional: true,
    nullable: true,
    example: 'Donate',
    description: 'The text of its button.',
  })
  nextLabel?: string | null;
}

export class ThankYouMailInput {
  @Text({ max: 200, description: 'May contain merge fields.' })
  subject!: string;

  @Text({
    max: MAX_MAIL,
    description: 'Markdown with merge fields, as in broadcasts to the signers of one petition.',
  })
  content!: string;
}

/** The fields of a petition about what follows a signature, all optional. */
export abstract class AfterSigningInput extends PetitionFieldsInput {
  @Nested(() => ThankYouInput, {
    optional: true,
    nullable: true,
    description: 'What its page shows after signing. Replaced as a whole; null: the texts of the site.',
  })
  thankYou?: ThankYouInput | null;

  @Nested(() => ThankYouMailInput, {
    optional: true,
    nullable: true,
    description:
      'The email that signers receive when a signature from its page is confirmed, once for each signature. ' +
      'Signatures that are added or imported through the API do not trigger an email. Replaced as a whole; null: none.',
  })
  thankYouMail?: ThankYouMailInput | null;

  @Flag({
    optional: true,
    documentedDefault: false,
    description:
      'Raises the goal automatically: when 80 % of it is reached, the next of 100, 250, 500, 1,000, 2,500 and so on becomes the goal.',
  })
  autoGoal?: boolean;
}

const orNull = (schema: ReturnType<typeof recordSchema>) => ({ ...schema, type: ['object', 'null'] });

export const thankYouSchema = {
  ...orNull(
    recordSchema({ title: textOrNull, text: textOrNull, nextUrl: textOrNull, nextLabel: textOrNull }),
  ),
  description: 'The content of the page after signing; null: the texts of the site.',
};

/** Fields of a petition about what follows a signature. */
export const afterSigningSchema = {
  thankYou: thankYouSchema,
  thankYouMail: {
    ...orNull(recordSchema({ subject: { type: 'string' }, content: { type: 'string' } })),
    description: 'The email that signers receive when a signature from its page is confirmed.',
  },
  autoGoal: {
    type: 'boolean',
    description: 'Whether the goal rises automatically when 80 % of it is reached.',
  },
};

type AfterSigning = Pick<PetitionFields, 'thankYou' | 'thankYouMail' | 'autoGoal'>;

/** The given fields. @throws RpcError BAD_REQUEST */
export function readAfterSigning({
  thankYou,
  thankYouMail,
  autoGoal,
}: Pick<AfterSigningInput, keyof AfterSigning>): Partial<AfterSigning> {
  return {
    ...(thankYou === undefined ? {} : { thankYou: readThankYou(thankYou) }),
    ...(autoGoal === undefined ? {} : { autoGoal }),
    ...(thankYouMail === undefined
      ? {}
      : { thankYouMail: thankYouMail && { subject: thankYouMail.subject, content: thankYouMail.content } }),
  };
}

/** @param at where it is in the input. @throws RpcError BAD_REQUEST */
export function readThankYou(given: ThankYouInput | null, at = 'thankYou.'): ThankYou | null {
  const { title = null, text = null, nextUrl = null, nextLabel = null } = given ?? {};
  if ((nextUrl === null) !== (nextLabel === null)) {
    const missing = nextUrl === null ? 'nextUrl' : 'nextLabel';
    const other = nextUrl === null ? 'nextLabel' : 'nextUrl';
    throw invalid([{ path: at + missing, message: `is required together with ${other}` }]);
  }
  return title === null && text === null && nextUrl === null ? null : { title, text, nextUrl, nextLabel };
}
