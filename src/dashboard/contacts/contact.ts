import { type CustomValue } from '../../fields/index.js';
import { type PageContext } from '../page-context.js';
import { type Choice, timeIn } from '../parts.js';
import { choiceOf, stateIn } from '../saved-views.js';

export const DETAILS = [
  'firstName',
  'lastName',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'region',
  'country',
  'bio',
] as const;
export type Detail = (typeof DETAILS)[number];

export type ContactRecord = {
  id: string;
  createdAt: string;
  updatedAt: string;
  email: string;
  subscribed: boolean;
  externalIds: string[];
  /** By the key of the field. */
  customFields: { [key: string]: CustomValue };
} & Record<Detail, string | null>;

/** Details by which the list can be filtered. */
export const PLACES = ['zip', 'city', 'region', 'country'] as const satisfies Detail[];

export function toContacts({ words, address }: PageContext) {
  return { href: address.path('contacts'), text: words.contacts.title };
}

/** The name of a contact, or the address if there is no name. */
export function nameOf({
  firstName,
  lastName,
  email,
}: Record<'firstName' | 'lastName' | 'email', string | null>): string {
  return [firstName, lastName].filter(Boolean).join(' ') || (email ?? '');
}

export function contactOf(
  { address, api }: PageContext,
  contactId = address.params.contact,
): Promise<ContactRecord> {
  const { organizationId } = api;
  return api.run<ContactRecord>('contact.get-contact', { organizationId, contactId });
}

/** All filters in the address of the list, also those that only saved views have. */
export function filtersOf(context: PageContext): Record<string, string> {
  const { sort: _, ...filters } = stateIn(context, 'contact.list-contacts')!.parameters;
  return filters;
}

/** Choices that forms offer. */
export const MOST_CHOICES = 100;

/** The newest records, as choices by name. Those that share a name also show when they were created. */
export async function choicesOf(
  { words, api }: PageContext,
  operation: string,
): Promise<{ value: string; text: string }[]> {
  type Named = { id: string; createdAt: string; name: string; title?: string };
  const { records } = await api.run<{ records: Named[] }>(operation, { limit: MOST_CHOICES });
  const names = records.map(({ name, title }) => title ?? name);
  return records.map(({ id, createdAt }, n) => {
    const name = names[n]!;
    const isShared = names.indexOf(name) !== names.lastIndexOf(name);
    return { value: id, text: isShared ? `${name} (${timeIn(words, createdAt)})` : name };
  });
}

/** The newest records, and all that are already chosen. Saving the form would remove any choice that it does not show. */
export async function choicesWith(
  context: PageContext,
  object: string,
  chosen: readonly string[],
): Promise<Choice[]> {
  if (!context.person.may(`${object}:read`)) return [];
  const newest = await choicesOf(context, `${object}.list-${object}s`);
  const missing = new Set(chosen.filter((id) => !newest.some(({ value }) => value === id)));
  const older = await Promise.all([...missing].map((id) => choiceOf(context.api, object, id)));
  return [...newest, ...older.filter((choice) => choice !== undefined)];
}
