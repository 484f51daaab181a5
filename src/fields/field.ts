import { changedFields } from '#libs/commands';
import { type Decider } from '#libs/event-store';
import { invalid, noSuch } from '#libs/rpc';

export const FIELD_TYPES = ['TEXT', 'NUMBER', 'DATE', 'BOOLEAN', 'CHOICE', 'CHOICES'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** A contact's value in a custom field. A list for `CHOICES`. */
export type CustomValue = string | number | boolean | string[];

export type FieldFields = {
  /** Its name in the API, in templates and in files. It never changes. */
  key: string;
  name: string;
  type: FieldType;
  /** The options to choose from; null for types without a choice. */
  options: string[] | null;
};

export type FieldEvent =
  | { type: 'FieldCreated'; data: FieldFields }
  | { type: 'FieldUpdated'; data: Partial<Pick<FieldFields, 'name' | 'options'>> }
  | { type: 'FieldDeleted'; data: Record<string, never> };

type ExistingField = FieldFields & { status: 'active' };
export type Field = { status: 'unknown' } | ExistingField | { status: 'deleted' };

export const field: Decider<Field, FieldEvent> = {
  streamType: 'field',
  initial: { status: 'unknown' },
  events: { FieldCreated: true, FieldUpdated: true, FieldDeleted: true },
  evolve(state, event) {
    if (event.type === 'FieldCreated') return { ...event.data, status: 'active' };
    if (state.status !== 'active') return state;
    switch (event.type) {
      case 'FieldUpdated':
        return { ...state, ...event.data };
      case 'FieldDeleted':
        return { status: 'deleted' };
    }
  },
};

/** Fields that are not given stay unchanged. @throws RpcError BAD_REQUEST for options that the type does not have. */
export function updateField(
  state: Field,
  given: { name?: string | undefined; options?: string[] | undefined },
): FieldEvent[] {
  const { status: _, ...fields } = existingField(state);
  if (given.options !== undefined) requireOptions(fields.type, given.options);
  const data = changedFields<FieldFields>(fields, given);
  return data ? [{ type: 'FieldUpdated', data }] : [];
}

/** The options that these events remove. */
export function removedOptions(state: Field, events: readonly FieldEvent[]): string[] {
  if (state.status !== 'active') return [];
  const kept = events.reduce<string[] | null>(
    (options, { data }) => ('options' in data ? (data.options ?? null) : options),
    state.options,
  );
  return (state.options ?? []).filter((option) => !kept?.includes(option));
}

/** Deleting a deleted field changes nothing. */
export function deleteField(state: Field): FieldEvent[] {
  if (state.status === 'deleted') return [];
  existingField(state);
  return [{ type: 'FieldDeleted', data: {} }];
}

/** @throws RpcError BAD_REQUEST if the type needs options and has none, or has options and needs none. */
export function requireOptions(type: FieldType, options: readonly string[] | undefined): void {
  const isChoice = hasOptions(type);
  if (isChoice && !options?.length)
    throw invalid([
      { path: 'options', message: `needs at least one option for a field of the type ${type}` },
    ]);
  if (!isChoice && options !== undefined)
    throw invalid([{ path: 'options', message: 'is only for fields of the types CHOICE and CHOICES' }]);
}

export function hasOptions(type: FieldType): boolean {
  return type === 'CHOICE' || type === 'CHOICES';
}

/** @throws RpcError NOT_FOUND if the field does not exist. */
function existingField(state: Field): ExistingField {
  if (state.status !== 'active') throw noSuch('field');
  return state;
}
