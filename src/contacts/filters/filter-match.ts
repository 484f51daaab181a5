import { comparableEmail } from '#libs/rpc';
import { type CustomValue } from '../../fields/index.js';
import { type ContactDetails } from '../contact.js';
import { isInCountry } from './countries.js';
import { type FieldCondition, type Filter, partOf } from './filter.js';
import { matchesCustomValue } from './custom-field-match.js';
import { customKeyOf, FILTER_FIELDS } from './filter-fields.js';
import { fold } from './folded-text.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A contact, as known from any source, for example an exported history. */
export type FilteredContact = {
  details: ContactDetails;
  /** By the keys of existing fields. */
  customFields: { readonly [key: string]: CustomValue };
  subscribed: boolean;
  createdAt: Date;
  updatedAt: Date;
  /**
   * When the contact's current link to an existing record began; undefined if there is none.
   *
   * @param condition the name of the condition: `list`, `signed`.
   */
  linkedSince(condition: string, recordId: string): Date | undefined;
};

/**
 * Whether a contact matches a filter. Equals `filterSql` for every contact and filter, which a test compares.
 *
 * @param now the moment from which `inLast` counts back.
 */
export function matchesFilter(filter: Filter, contact: FilteredContact, now: Date): boolean {
  const part = partOf(filter);
  switch (part.kind) {
    case 'all':
      return part.parts.every((one) => matchesFilter(one, contact, now));
    case 'any':
      return part.parts.some((one) => matchesFilter(one, contact, now));
    case 'not':
      return !matchesFilter(part.part, contact, now);
    case 'field':
      return matchesField(part.condition, contact, now) !== (part.condition.op === 'isNot');
    case 'record': {
      const since = contact.linkedSince(part.name, part.id);
      if (!since) return false;
      return part.inLast === undefined || since.getTime() >= now.getTime() - part.inLast * DAY_MS;
    }
  }
}

function matchesField(condition: FieldCondition, contact: FilteredContact, now: Date): boolean {
  const { field, op, value } = condition;
  const customKey = customKeyOf(field);
  if (customKey !== undefined) {
    const { customFields } = contact;
    const own = Object.hasOwn(customFields, customKey) ? customFields[customKey] : undefined;
    return matchesCustomValue(condition, own, now);
  }
  const known = FILTER_FIELDS.get(field);
  if (!known) throw new Error(`The field ${field} is not known.`);
  if (known.type === 'flag') return contact.subscribed === value;
  if (known.type === 'time')
    return matchesTime(contact[field as 'createdAt' | 'updatedAt'].getTime(), op, value, now);
  const text = contact.details[field as keyof ContactDetails];
  if (text === null) return false;
  if (op === 'isSet') return true;
  const [given, wanted] = [fold(text), fold(value as string)];
  if (op === 'contains') return given.includes(wanted);
  if (op === 'startsWith') return given.startsWith(wanted);
  if (known.type === 'country') return isInCountry(text, value as string);
  return known.type === 'email'
    ? comparableEmail(text) === comparableEmail(value as string)
    : given === wanted;
}

function matchesTime(
  time: number,
  op: FieldCondition['op'],
  value: FieldCondition['value'],
  now: Date,
): boolean {
  if (op === 'atLeast') return time >= Date.parse(value as string);
  if (op === 'atMost') return time <= Date.parse(value as string);
  if (op === 'inLast') return time >= now.getTime() - (value as number) * DAY_MS;
  const [from, to] = value as [string, string];
  return time >= Date.parse(from) && time <= Date.parse(to);
}
