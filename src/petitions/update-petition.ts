import { isDeepStrictEqual } from 'node:util';
import { ResourceCommands } from '#libs/resources';
import { handlerOf, Id, momentOf, OneOf, Operation, Text } from '#libs/rpc';
import { RecordReader } from '#libs/commands';
import { readAfterSigning } from './after-signing.js';
import { readFormFields, requireOneOfEach } from './petition-fields.js';
import { withComment, withCustomFields } from './petition-form.js';
import { PetitionForms } from './petition-forms.js';
import { asEarlier, type Earlier } from './petition-shapes.js';
import {
  existingPetition,
  type ExistingPetition,
  type Outcome,
  outcomeAfter,
  OUTCOMES,
  type PetitionFields,
  updatePetition,
} from './petition.js';
import { petitions, petitionSchema } from './petitions.js';
import { PetitionInput, presetFor, readLanguages } from './translations.js';

@Operation({
  name: 'petition.update-petition',
  summary: 'Update a petition',
  description: 'Changes only the fields you send; `null` clears an optional field.',
  answers: petitionSchema,
  reasons: ['SLUG_TAKEN', 'PETITION_NOT_CLOSED'],
})
export class UpdatePetition extends PetitionInput {
  @Id()
  petitionId!: string;

  @OneOf(OUTCOMES, {
    optional: true,
    nullable: true,
    description: 'Its outcome. Only a closed petition has one. Publishing it again deletes it.',
  })
  outcome?: Outcome | null;

  @Text({
    max: 10_000,
    optional: true,
    nullable: true,
    description: 'Markdown that its page shows with the outcome.',
  })
  outcomeText?: string | null;
}

export const UpdatePetitionHandler = handlerOf(
  UpdatePetition,
  [ResourceCommands, PetitionForms, RecordReader],
  async (command, commands, forms, records) => {
    const { context, organizationId, petitionId, publicComments, formFields, comments, form, ...rest } =
      command;
    const { thankYou, thankYouMail, autoGoal, language, translations, outcome, outcomeText, ...changes } =
      rest;
    const preset = await presetFor(records, command);
    requireOneOfEach(command);
    const closesAt = momentOf(changes.closesAt);
    const read = form && (await forms.read(organizationId, form));
    const given = { comments, publicComments, formFields: formFields && readFormFields(formFields) };
    return commands.change(
      petitions,
      command,
      (state) =>
        updatePetition(state, {
          ...changes,
          ...readAfterSigning({ thankYou, thankYouMail, autoGoal }),
          ...readLanguages(existingPetition(state), { language, translations }, preset),
          ...(closesAt === undefined ? {} : { closesAt }),
          ...outcomeAfter(existingPetition(state), { outcome, outcomeText }),
          ...chosenFor(existingPetition(state), { ...given, form: read?.form }),
        }),
      read?.require,
    );
  },
);

type Given = { [Field in keyof (Chosen & Earlier)]?: (Chosen & Earlier)[Field] | undefined };
type Chosen = Pick<PetitionFields, 'comments' | 'form'>;

/** The form and the comments, also as earlier clients give them. Sending back what they were shown changes nothing. */
function chosenFor(before: ExistingPetition, given: Given): Partial<Chosen> {
  const shown = asEarlier(before);
  const { formFields = shown.formFields, publicComments = shown.publicComments } = given;
  const earlier = publicComments ? 'SHOWN' : 'OFF';
  const comments = given.comments ?? (publicComments === shown.publicComments ? before.comments : earlier);
  const kept = isDeepStrictEqual(formFields, shown.formFields)
    ? before.form
    : withCustomFields(before.form, formFields);
  const isNew = before.comments === 'OFF' && comments !== 'OFF';
  return { comments, form: given.form ?? (isNew ? withComment(kept) : kept) };
}
