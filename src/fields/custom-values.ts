import { type Issue, UNSTORABLE } from '#libs/rpc';
import { type CustomValue, type FieldFields } from './field.js';

/** A custom field as values need it. */
export type FieldDefinition = FieldFields & { id: string };

/** Values by the key of their field, as a caller sends them. */
export type GivenValues = { readonly [key: string]: unknown };
/** Values by the id of their field; null clears one. */
export type ValueChanges = { [fieldId: string]: CustomValue | null };

const LONGEST_TEXT = 1_000;
const DATE = /^(?!0000)\d{4}-\d\d-\d\d$/;

/** Bytes of a contact's values as JSON, by the ids of their fields. */
export const MOST_VALUE_BYTES = 16 * 1024;

type Read = { value: CustomValue | null } | { problem: string };

/**
 * Checks values and converts their keys to ids.
 *
 * @param fields of the organization.
 */
export function readValues(
  fields: readonly FieldDefinition[],
  given: GivenValues,
): { values: ValueChanges; issues: Issue[] } {
  const byKey = new Map(fields.map((field) => [field.key, field]));
  const values: ValueChanges = {};
  const issues: Issue[] = [];
  for (const [key, one] of Object.entries(given)) {
    const field = byKey.get(key);
    const read = field ? readValue(field, one) : { problem: unknownField([...byKey.keys()]) };
    if ('problem' in read) issues.push({ path: `customFields.${key.slice(0, 100)}`, message: read.problem });
    else values[field!.id] = read.value;
  }
  return { values, issues };
}

function unknownField(keys: readonly string[]): string {
  return keys.length === 0
    ? 'is not a custom field: your organization has none. Create it with field.create-field'
    : `is not a custom field. Your organization has these: ${keys.join(', ')}`;
}

/** Texts are trimmed. Null, an empty text and an empty list clear the value. */
export function readValue(field: FieldDefinition, given: unknown): Read {
  const value = typeof given === 'string' ? given.trim() : given;
  if (value === null || value === '') return { value: null };
  const problem = problemOf(field, value);
  if (problem !== undefined) return { problem };
  if (!Array.isArray(value)) return { value: value as CustomValue };
  const chosen = [...new Set((value as string[]).map((one) => one.trim()))];
  return { value: chosen.length === 0 ? null : chosen };
}

function problemOf({ type, options }: FieldDefinition, value: unknown): string | undefined {
  const known = options ?? [];
  switch (type) {
    case 'TEXT':
      if (typeof value !== 'string') return 'must be a string';
      if ([...value].length > LONGEST_TEXT) return `must have at most ${LONGEST_TEXT} characters`;
      return UNSTORABLE.test(value) ? 'must not contain NUL characters or lone surrogates' : undefined;
    case 'NUMBER':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : 'must be a number';
    case 'DATE':
      return isDate(value) ? undefined : 'must be a date like 2024-05-31';
    case 'BOOLEAN':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'CHOICE':
      return known.includes(value as string) ? undefined : `must be one of: ${known.join(', ')}`;
    case 'CHOICES': {
      const isKnown = (one: unknown) => typeof one === 'string' && known.includes(one.trim());
      return Array.isArray(value) && value.every(isKnown)
        ? undefined
        : `must be a list of: ${known.join(', ')}`;
    }
  }
}

/** JavaScript converts 30 February to 1 March. */
function isDate(value: unknown): boolean {
  if (typeof value !== 'string' || !DATE.test(value)) return false;
  const moment = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(value);
}

const YES = ['true', 'yes', '1', 'x', 'y', 'ja', 'oui', 'sí', 'si'];
const NO = ['false', 'no', '0', 'n', 'nein', 'non'];

/**
 * Converts the text of a form or a table to the type of the field. A text that cannot be converted stays, so that
 * `readValue` reports it.
 *
 * @param listOf splits a text into several options.
 */
export function valueIn(field: FieldDefinition, text: string, listOf: (text: string) => string[]): unknown {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const optionIn = (one: string) => {
    const options = field.options ?? [];
    return options.includes(one)
      ? one
      : (options.find((option) => option.toLowerCase() === one.toLowerCase()) ?? one);
  };
  switch (field.type) {
    case 'NUMBER':
      return numberIn(trimmed) ?? text;
    case 'BOOLEAN': {
      const word = trimmed.toLowerCase();
      return YES.includes(word) ? true : NO.includes(word) ? false : text;
    }
    case 'CHOICE':
      return optionIn(trimmed);
    case 'CHOICES':
      return listOf(trimmed).map(optionIn);
    case 'TEXT':
    case 'DATE':
      return text;
  }
}

/** With a decimal point or comma. Undefined for `1,234`, which may be either. */
function numberIn(text: string): number | undefined {
  if (/^[-+]?\d+,\d{3}$/.test(text)) return undefined;
  return /^[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?$/i.test(text)
    ? Number(text.replace(',', '.'))
    : undefined;
}
