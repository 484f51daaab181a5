import { ResourceCommands } from '#libs/resources';
import { handlerOf, Names, Operation, RecordInput, RpcError, Text } from '#libs/rpc';
import { LONGEST_OPTION, MAX_OPTIONS } from './create-field.js';
import { removedOptions, updateField } from './field.js';
import { fields, fieldSchema } from './fields.js';
import { OptionUse } from './option-use.js';

@Operation({
  name: 'field.update-field',
  summary: 'Update a custom field',
  description:
    'Changes only the fields you send. The key and the type never change. You cannot remove an option ' +
    'that is the value of a contact.',
  answers: fieldSchema,
  reasons: ['OPTION_IN_USE'],
})
export class UpdateField extends RecordInput('fieldId') {
  @Text({ max: 200, optional: true })
  name?: string;

  @Names({
    optional: true,
    max: MAX_OPTIONS,
    longest: LONGEST_OPTION,
    description: 'All options, including those that stay. Only for the types CHOICE and CHOICES.',
  })
  options?: string[];
}

export const UpdateFieldHandler = handlerOf(
  UpdateField,
  [ResourceCommands, OptionUse],
  (command, commands, use) => {
    const { organizationId, fieldId, name, options } = command;
    let removed: string[] = [];
    return commands.change(
      fields,
      command,
      (state) => {
        const events = updateField(state, { name, options });
        removed = removedOptions(state, events);
        return events;
      },
      async () => {
        if (removed.length === 0) return;
        const contacts = await use.count(organizationId, fieldId, removed);
        if (contacts > 0) throw inUse(removed, contacts);
      },
    );
  },
);

function inUse(options: readonly string[], contacts: number): RpcError {
  const what = options.length === 1 ? `The option "${options[0]}"` : 'One of the options that you remove';
  return new RpcError(
    'CONFLICT',
    `${what} is the value of ${contacts} ${contacts === 1 ? 'contact' : 'contacts'}. Give them another value first.`,
    { reason: 'OPTION_IN_USE', issues: [{ path: 'options', message: `in use by ${contacts}` }] },
  );
}
