import { Commands, type Decision, writeTo } from '#libs/commands';
import { newId } from '#libs/random';
import { handlerOf, Input, Names, OneOf, Operation, RpcError, Text } from '#libs/rpc';
import { field, FIELD_TYPES, type FieldType, requireOptions } from './field.js';
import { keysFor } from './field-key.js';
import { fieldIdSchema } from './fields.js';

/** The limit per organization: a contact can have a value in each field, and responses contain them all. */
export const MAX_FIELDS = 100;
export const MAX_OPTIONS = 200;
export const LONGEST_OPTION = 200;

@Operation({
  name: 'field.create-field',
  summary: 'Create a custom field',
  description:
    'Adds a field to the contacts of your organization. Its `key` is derived from the name: "Shoe size" becomes ' +
    '`shoeSize`, or `shoeSize2` if another field has that key. Contacts then have it in `customFields`. Sending the ' +
    'same body again returns the first field, as long as it exists and still has that name. An organization can ' +
    `have up to ${MAX_FIELDS} fields.`,
  answers: fieldIdSchema,
  reasons: ['FIELD_LIMIT_REACHED'],
})
export class CreateField extends Input {
  @Text({ max: 200, example: 'Shoe size' })
  name!: string;

  @OneOf(FIELD_TYPES, {
    default: 'TEXT',
    description:
      'TEXT: up to 1,000 characters. NUMBER. DATE: like 2024-05-31. BOOLEAN: true or false. CHOICE: one of ' +
      '`options`. CHOICES: any of them. The type never changes.',
  })
  type!: FieldType;

  @Names({
    optional: true,
    max: MAX_OPTIONS,
    longest: LONGEST_OPTION,
    description: 'The options to choose from. Required for CHOICE and CHOICES.',
  })
  options?: string[];
}

export const CreateFieldHandler = handlerOf(CreateField, [Commands], async (command, commands) => {
  const { organizationId, name, type, options } = command;
  requireOptions(type, options);
  const fieldId = newId();
  const creates = commands.named(
    field,
    organizationId,
    (state) => state.status === 'active' && state.name === name,
  );
  const decide = async (): Promise<Decision> => {
    const { place, key } = await findFree(organizationId, name, commands);
    if (!place || !key) {
      const existing = await commands.findTwin(command, creates);
      if (existing !== undefined) return { recordId: existing, writes: [] };
      throw tooMany();
    }
    const data = { key, name, type, options: options ?? null };
    const write = writeTo(field, fieldId, 0, [{ type: 'FieldCreated', data }]);
    const claims = [place, uniqueKey(key)].map((value) => ({ value, streamId: fieldId, taken: decide }));
    return { recordId: fieldId, creates, writes: [write], claims };
  };
  const { recordId } = await commands.run(command, decide);
  return { fieldId: recordId };
});

/**
 * A free place and a free key; undefined if all are in use. Creating a field claims both, and deleting it releases
 * them, so concurrent requests cannot exceed the limit or share a key. The place is random, because concurrent
 * requests choose one too.
 */
async function findFree(
  organizationId: string,
  name: string,
  commands: Commands,
): Promise<{ place: string[] | undefined; key: string | undefined }> {
  const places = Array.from({ length: MAX_FIELDS }, (_, n) => ['field.place', String(n)]);
  const keys = keysFor(name, MAX_FIELDS);
  const owners = await commands.findOwners(organizationId, [...places, ...keys.map(uniqueKey)]);
  const free = places.filter((_, n) => owners[n] === undefined);
  return {
    place: free[Math.floor(Math.random() * free.length)],
    key: keys.find((_, n) => owners[places.length + n] === undefined),
  };
}

function uniqueKey(key: string): string[] {
  return ['field.key', key];
}

function tooMany(): RpcError {
  return new RpcError(
    'CONFLICT',
    `An organization can have up to ${MAX_FIELDS} custom fields. Delete one that you no longer need.`,
    { reason: 'FIELD_LIMIT_REACHED' },
  );
}
