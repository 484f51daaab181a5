import { Ids, Input, invalid, Nested, NestedList, OneOf, Slug, Text } from '#libs/rpc';
import {
  ConsentInput,
  FormFieldInput,
  type PetitionForm,
  type PetitionForms,
  readThankYou,
  type ThankYou,
  ThankYouInput,
} from '../petitions/index.js';
import { type FormFields, STATUSES } from './form.js';

/** Fewer people complete a longer form. */
const MAX_FIELDS = 20;
const MAX_IDS = 20;

/** The fields shared by create-form and update-form, all optional. */
export abstract class FormFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'Newsletter' })
  name?: string;

  @Text({
    max: 200,
    optional: true,
    nullable: true,
    description:
      'Default, and null: the name. For the form that every organization begins with: the page’s own title, in the organization’s language.',
  })
  title?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true, description: 'Shown above the form.' })
  text?: string | null;

  @Slug({
    optional: true,
    nullable: true,
    example: 'newsletter',
    description:
      'The path of its page, unique in the organization. A previous slug redirects for a year. Default: derived from the name.',
  })
  slug?: string | null;

  @NestedList(() => FormFieldInput, {
    optional: true,
    max: MAX_FIELDS,
    description:
      'What the form asks for next to the email address, in this order. Default: the first and the last name, both optional.',
  })
  fields?: FormFieldInput[];

  @Nested(() => ConsentInput, {
    optional: true,
    description:
      'The checkbox to subscribe. Default: it is required, with the page’s own text, in its language.',
  })
  consent?: ConsentInput;

  @Ids({ min: 0, max: MAX_IDS, optional: true, description: 'The lists that people are added to.' })
  listIds?: string[];

  @Ids({ min: 0, max: MAX_IDS, optional: true, description: 'The tags that people get.' })
  tagIds?: string[];

  @OneOf(['EMAIL', 'NONE'], {
    optional: true,
    documentedDefault: 'EMAIL',
    description:
      'Whether sign-ups take effect only once people confirm them by email. Without confirmation, a sign-up cannot ' +
      'resubscribe a contact or change their details.',
  })
  confirmation?: FormFields['confirmation'];

  @Nested(() => ThankYouInput, {
    optional: true,
    nullable: true,
    description:
      'The content of the page after signing up. Replaced as a whole; null: the texts of the site.',
  })
  thankYou?: ThankYouInput | null;

  @OneOf(STATUSES, {
    optional: true,
    documentedDefault: 'PUBLISHED',
    description:
      'A paused form accepts nothing, and links in its emails do not confirm until it is published again.',
  })
  status?: FormFields['status'];
}

type Nested = Pick<FormFieldsInput, 'fields' | 'consent' | 'thankYou'>;

/**
 * The nested fields as they are stored. `require`: see `PetitionForms.read`.
 *
 * @throws RpcError BAD_REQUEST
 */
export async function readNested(
  forms: PetitionForms,
  organizationId: string,
  { fields, consent, thankYou }: Nested,
): Promise<{ nested: Partial<PetitionForm & { thankYou: ThankYou | null }>; require: () => Promise<void> }> {
  const comment = fields?.findIndex(({ field }) => field === 'comment') ?? -1;
  if (comment >= 0)
    throw invalid([{ path: `fields.${comment}.field`, message: 'cannot be asked for in this form' }]);
  const { form, require } = await forms.read(organizationId, { fields: fields ?? [], consent }, '');
  const nested = {
    ...(fields && { fields: form.fields }),
    ...(consent && { consent: form.consent }),
    ...(thankYou === undefined ? {} : { thankYou: readThankYou(thankYou) }),
  };
  return { nested, require };
}
