import { compare, type Condition, search, SEARCH_RULE } from '#libs/projections';
import { type Resource, type Resources } from '#libs/resources';
import { comparableEmail, Email, Flag, Id, Text, TimeFilters } from '#libs/rpc';
import { inCountry } from './countries.js';
import { LONGEST_EXTERNAL_ID, SEARCHED } from '../contact-columns.js';

/** The filters of contacts, for lists and exports. */
export abstract class ContactFilters extends TimeFilters {
  @Email({ optional: true, description: 'Compared with the same rules as in create-contact.' })
  email?: string;

  @Text({
    max: LONGEST_EXTERNAL_ID,
    optional: true,
    description: 'One of the `externalIds`, like `civicrm:123`.',
  })
  externalId?: string;

  @Flag({ optional: true })
  subscribed?: boolean;

  @Text({
    max: 500,
    optional: true,
    description:
      'A name or ISO 3166 code. Names in English, German, French and Spanish and codes are the same.',
  })
  country?: string;

  @Text({ max: 500, optional: true })
  region?: string;

  @Text({ max: 500, optional: true })
  city?: string;

  @Text({ max: 500, optional: true })
  zip?: string;

  @Text({ max: 200, optional: true, description: `Part of a name or an email address. ${SEARCH_RULE}` })
  q?: string;
}

/** A kind of records that contacts belong to. `members` says which contacts belong to several of them. */
export type KindOfContacts = { resource: Resource; members: string };

/** These kinds, by the field that names one record. */
const choices = new Map<string, KindOfContacts>();
const listeners: ((kind: KindOfContacts) => void)[] = [];

/** Filtering contacts by a list or a petition reveals who is on it. */
export const FILTER_SCOPES: Record<string, string> = {};

/**
 * Lets contacts be listed, exported and chosen as recipients by the records of another module that they are linked to. Call it
 * where the kind is declared, before the first request.
 *
 * @param texts `filter` describes the field that is named like the record's id (`listId`). `members` continues "contacts …" for
 *   several records: "on any of these lists".
 */
export function chooseContactsBy(resource: Resource, texts: { filter: string; members: string }): void {
  Id({ optional: true, description: texts.filter })(ContactFilters.prototype, resource.idField);
  FILTER_SCOPES[resource.idField] = `${resource.object}:read`;
  const kind = { resource, members: texts.members };
  choices.set(resource.idField, kind);
  for (const listener of listeners) listener(kind);
}

/** The kinds of records that contacts are linked to and can be filtered by. */
export function kindsOfContacts(): readonly Resource[] {
  return [...choices.values()].map(({ resource }) => resource);
}

/** Calls the listener for each of these kinds, also for those that are declared later. */
export function forEachKindOfContacts(listener: (kind: KindOfContacts) => void): void {
  listeners.push(listener);
  for (const kind of choices.values()) listener(kind);
}

/** The conditions for `findRows`. @throws RpcError NOT_FOUND if a named record does not exist. */
export async function contactConditions(
  filters: ContactFilters,
  resources: Pick<Resources, 'linked'>,
): Promise<(Condition | undefined)[]> {
  const { email, organizationId } = filters;
  const linked: Condition[] = [];
  for (const [field, { resource }] of choices) {
    const id = (filters as unknown as { [field: string]: string | undefined })[field];
    if (id !== undefined) linked.push(await resources.linked(resource, organizationId, id));
  }
  return [
    email === undefined
      ? undefined
      : { sql: 'email_compared = ?', value: comparableEmail(email), selective: true },
    filters.externalId === undefined
      ? undefined
      : { sql: 'external_ids @> ARRAY[?]::text[]', value: filters.externalId, selective: true },
    compare('subscribed = ?', filters.subscribed),
    inCountry(filters.country),
    compare('region = ?', filters.region),
    compare('city = ?', filters.city),
    compare('zip = ?', filters.zip),
    ...linked,
    search(SEARCHED, filters.q),
  ];
}
