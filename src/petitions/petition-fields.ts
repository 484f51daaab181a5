import { type Json } from '#libs/event-store';
import {
  AnyJson,
  Flag,
  Id,
  Input,
  Integer,
  invalid,
  Nested,
  NestedList,
  OneOf,
  Slug,
  Text,
  Timestamp,
} from '#libs/rpc';
import { type FormField, STANDARD_FIELDS } from './petition-form.js';
import { COMMENTS, type Confirmation, type PetitionFields } from './petition.js';

export const DEFAULT_GOAL = 100;
export const MAX_CONTENT_BYTES = 256 * 1024;
/** Characters of the text next to the checkbox. */
export const MAX_CONSENT = 1_000;
/** Fewer people complete a longer form. */
const MAX_FORM_FIELDS = 20;

class CustomFieldInput {
  @Id()
  fieldId!: string;

  @Flag({ default: false, description: 'Whether an answer is required.' })
  required!: boolean;
}

export class FormFieldInput {
  @Text({
    max: 100,
    example: 'zip',
    description: `One of ${STANDARD_FIELDS.map((field) => `\`${field}\``).join(', ')}, or the key of a custom field.`,
  })
  field!: string;

  @Flag({ default: false, description: 'Whether an answer is required.' })
  required!: boolean;
}

export class ConsentInput {
  @Text({
    max: MAX_CONSENT,
    optional: true,
    nullable: true,
    description:
      'The text next to the checkbox. Consent is recorded with this exact text. Default: the page’s own text, in its language.',
  })
  text?: string | null;

  @Flag({ default: false, description: 'Whether only people who tick the box can send the form.' })
  required!: boolean;
}

export class FormInput {
  @NestedList(() => FormFieldInput, {
    max: MAX_FORM_FIELDS + STANDARD_FIELDS.length,
    description: 'In this order. The form always asks for the email address.',
  })
  fields!: FormFieldInput[];

  @Nested(() => ConsentInput, {
    optional: true,
    description: 'The checkbox to subscribe to the organization’s emails.',
  })
  consent?: ConsentInput | undefined;
}

/** The fields shared by create-petition and update-petition, all optional. */
export abstract class PetitionFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'Save the river' })
  name?: string;

  @Text({ max: 200, optional: true, description: 'Default: the name.' })
  title?: string;

  @Integer({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    documentedDefault: DEFAULT_GOAL,
    description: 'Signature goal.',
  })
  goal?: number;

  @Text({ max: 500, optional: true, nullable: true, description: 'Who the petition is addressed to.' })
  target?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true, description: 'What the target is asked to do.' })
  ask?: string | null;

  @Text({
    max: 500,
    optional: true,
    nullable: true,
    namesRecord: true,
    description:
      "The id of one of the organization's images, as returned by image.upload-image. Determines `image`.",
  })
  imageId?: string | null;

  @AnyJson({
    optional: true,
    maxBytes: MAX_CONTENT_BYTES,
    description:
      'Any JSON, up to 256 KiB as stored. The page renders a string or `{ "markdown": … }` as Markdown, as well as ' +
      'TipTap and ProseMirror documents. Other content is stored but not shown.',
  })
  content?: Json;

  @Slug({
    optional: true,
    nullable: true,
    example: 'save-the-river',
    description:
      'The path of its page, unique in the organization. A previous slug redirects for a year. Default: derived ' +
      'from the name.',
  })
  slug?: string | null;

  @OneOf(['EMAIL', 'NONE'], {
    optional: true,
    documentedDefault: 'EMAIL',
    description: 'Whether signatures from its page count only after the signer confirms them by email.',
  })
  confirmation?: Confirmation;

  @Timestamp({ optional: true, nullable: true, description: 'When it closes automatically.' })
  closesAt?: string | null;

  @Flag({
    optional: true,
    documentedDefault: false,
    description: 'Deprecated: use `comments`. true: SHOWN, false: OFF.',
  })
  publicComments?: boolean;

  @OneOf(COMMENTS, {
    optional: true,
    documentedDefault: 'OFF',
    description:
      'Which comments the petition’s page shows, among those whose authors allow it: none (`OFF`), all except those hidden by ' +
      '`petition.hide-comment` (`SHOWN`), or only those approved with `petition.show-comment` (`APPROVED`).',
  })
  comments?: PetitionFields['comments'];

  @Nested(() => FormInput, {
    optional: true,
    description:
      'The fields of the form on its page. A custom field of the type BOOLEAN is a checkbox: if required, it must be ' +
      'checked. Answers become details of the signer. Values of a contact who signed before are only replaced if the ' +
      'signature is confirmed by email. Default: first name (required) and last name, and the comment if `comments` ' +
      'are not OFF.',
  })
  form?: FormInput;

  @NestedList(() => CustomFieldInput, {
    optional: true,
    max: MAX_FORM_FIELDS,
    description: 'Deprecated: use `form`. The custom fields that the form asks for, by their ids.',
  })
  formFields?: FormField[];
}

/** @throws RpcError BAD_REQUEST if a field is given twice. */
export function readFormFields(given: readonly FormField[]): FormField[] {
  const ids = given.map(({ fieldId }) => fieldId);
  const twice = ids.findIndex((id, n) => ids.indexOf(id) !== n);
  if (twice >= 0) throw invalid([{ path: `formFields.${twice}.fieldId`, message: 'is in the list twice' }]);
  return given.map(({ fieldId, required }) => ({ fieldId, required }));
}

/** @throws RpcError BAD_REQUEST if a field is given together with the earlier one that it replaces. */
export function requireOneOfEach(given: PetitionFieldsInput): void {
  const both = [['form', 'formFields'] as const, ['comments', 'publicComments'] as const].filter(
    ([now, earlier]) => given[now] !== undefined && given[earlier] !== undefined,
  );
  if (both.length === 0) return;
  throw invalid(
    both.map(([now, earlier]) => ({ path: earlier, message: `is deprecated: send only \`${now}\`` })),
  );
}
