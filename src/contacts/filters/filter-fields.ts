import { type FieldDefinition } from '../../fields/index.js';
import { CONTACT_DETAILS } from '../contact.js';
import { DETAIL_COLUMNS } from '../contact-columns.js';

export type Op =
  | 'is'
  | 'isNot'
  | 'contains'
  | 'startsWith'
  | 'isSet'
  | 'atLeast'
  | 'atMost'
  | 'between'
  | 'inLast';

/** `country`: its names and codes are equal. `sealed`: encrypted with the person's key, so the database knows only whether there is a value. */
export type FieldType = 'text' | 'email' | 'country' | 'sealed' | 'flag' | 'time';
export type FilterField = { type: FieldType; column: string };

const TEXT_OPS: readonly Op[] = ['is', 'isNot', 'contains', 'startsWith', 'isSet'];
export const OPS_OF: { readonly [type in FieldType]: readonly Op[] } = {
  text: TEXT_OPS,
  email: TEXT_OPS,
  country: TEXT_OPS,
  sealed: ['isSet'],
  flag: ['is', 'isNot'],
  time: ['atLeast', 'atMost', 'between', 'inLast'],
};

/** The fields of a contact that filters can use, by name. */
export const FILTER_FIELDS: ReadonlyMap<string, FilterField> = new Map<string, FilterField>([
  ...CONTACT_DETAILS.map((detail): [string, FilterField] => {
    const { column, sealed } = DETAIL_COLUMNS.find((one) => one.detail === detail)!;
    const own = detail === 'email' || detail === 'country' ? detail : 'text';
    return [detail, { column, type: sealed ? 'sealed' : own }];
  }),
  ['subscribed', { type: 'flag', column: 'subscribed' }],
  ['createdAt', { type: 'time', column: 'created_at' }],
  ['updatedAt', { type: 'time', column: 'updated_at' }],
]);

const CUSTOM = 'fields.';

/** The key of the custom field that a condition names: `fields.shoeSize`. Undefined for other fields. */
export function customKeyOf(field: string): string | undefined {
  return field.startsWith(CUSTOM) ? field.slice(CUSTOM.length) : undefined;
}

/** The operators for each type of custom field. */
export const CUSTOM_OPS: { readonly [type in FieldDefinition['type']]: readonly Op[] } = {
  TEXT: TEXT_OPS,
  NUMBER: ['is', 'isNot', 'atLeast', 'atMost', 'between', 'isSet'],
  DATE: ['is', 'isNot', 'atLeast', 'atMost', 'between', 'inLast', 'isSet'],
  BOOLEAN: ['is', 'isNot', 'isSet'],
  CHOICE: ['is', 'isNot', 'isSet'],
  CHOICES: ['contains', 'isSet'],
};

export function filterFields(): ReadonlyMap<string, FieldType> {
  return new Map([...FILTER_FIELDS].map(([name, { type }]) => [name, type]));
}
