import { compare, type Condition, search, SEARCH_RULE } from '#libs/projections';
import { type Resource, type Resources } from '#libs/resources';
import {
  comparableEmail,
  Email,
  fieldsOf,
  Flag,
  Id,
  invalid,
  noSuch,
  Text,
  TimeFilters,
  Input,
} from '#libs/rpc';
import { inCountry } from './countries.js';
import { LONGEST_EXTERNAL_ID, SEARCHED } from '../contact-columns.js';
import { type Filter, filterContactsBy } from './filter.js';
import { filterSql, linkedMembers } from './filter-sql.js';
import { withoutCase } from './folded-text.js';

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
      'A name or ISO 3166 code. The code of a country and its names in English, German, French and Spanish ' +
      'match each other.',
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

/** An operation on the contacts of a record that is not linked to them, such as a segment. */
export abstract class ContactChoice extends Input {}

/** The scopes of its fields. */
export const CHOICE_SCOPES: Record<string, string> = {};

/** A kind of records that contacts belong to. */
export type KindOfContacts = {
  resource: Resource;
  /** Which contacts belong to several of them. Continues "contacts …": "on any of these lists". */
  members: string;
  /** For records that contacts are not linked to: the filter that a record with these fields contains. */
  filterOf?: ((fields: object) => Filter) | undefined;
};

/** These kinds, by the field that names one record. */
const choices = new Map<string, KindOfContacts>();
const listeners: ((kind: KindOfContacts) => void)[] = [];

/** Filtering contacts by a list or a petition reveals who is on it. */
export const FILTER_SCOPES: Record<string, string> = {};

/**
 * Lets contacts be listed, exported and chosen as recipients by the records of another module. Call it where the kind is
 * declared, before the first request.
 *
 * @param declared `filter` describes the field that is named like the record's id (`listId`). `members` and `filterOf`: see
 *   `KindOfContacts`. Records that contacts are linked to also get a condition in filters. Default of its name: that of one
 *   record, `list`. `began`: see `linkedMembers`.
 */
export function chooseContactsBy(
  resource: Resource,
  declared: Pick<KindOfContacts, 'members' | 'filterOf'> & {
    filter: string;
    condition?: string;
    began?: string;
  },
): void {
  const { idField, object, linkTable } = resource;
  const { filter, members, filterOf, condition = object, began } = declared;
  Id({ optional: true, description: filter })(ContactFilters.prototype, idField);
  FILTER_SCOPES[idField] = `${object}:read`;
  if (filterOf) {
    Id({ optional: true, description: filter })(ContactChoice.prototype, idField);
    CHOICE_SCOPES[idField] = `${object}:read`;
  }
  if (linkTable) filterContactsBy(condition, { resource, members: linkedMembers(linkTable, began) });
  const kind = { resource, members, filterOf };
  choices.set(idField, kind);
  for (const listener of listeners) listener(kind);
}

export function kindsOfContacts(): readonly Resource[] {
  return [...choices.values()].map(({ resource }) => resource);
}

/** The kind of these records. */
export function kindOf({ idField }: Resource): KindOfContacts {
  return choices.get(idField)!;
}

/** Calls the listener for each of these kinds, including those that are declared later. */
export function forEachKindOfContacts(listener: (kind: KindOfContacts) => void): void {
  listeners.push(listener);
  for (const kind of choices.values()) listener(kind);
}

/**
 * The record whose contacts at a past time a list can return: its links never move to another contact.
 *
 * @throws RpcError BAD_REQUEST unless the filters are one such record.
 */
export function membersOf(filters: ContactFilters): { resource: Resource; id: string } {
  const given = Object.entries(filters).filter(
    ([name, value]) => value !== undefined && fieldsOf(ContactFilters).has(name) && name !== 'organizationId',
  );
  const kinds = [...choices.values()].filter(({ resource: { link } }) => link && !link.isMovable);
  const [[name, id] = []] = given;
  const resource = kinds.find(({ resource: { idField } }) => idField === name)?.resource;
  if (resource && given.length === 1) return { resource, id: id as string };
  const fields = kinds.map(({ resource: { idField } }) => idField).join(' or ');
  throw invalid([{ path: 'asOf', message: `requires ${fields}, and no other filter` }]);
}

/** The condition for `findRows`; undefined if no record is chosen. @throws RpcError NOT_FOUND if it does not exist. */
export async function chosenContacts(
  choice: ContactChoice,
  resources: Pick<Resources, 'linked' | 'findAt'>,
): Promise<Condition | undefined> {
  for (const field of Object.keys(CHOICE_SCOPES)) {
    const id = (choice as unknown as { [field: string]: string | undefined })[field];
    if (id !== undefined) return conditionOf(choices.get(field)!, resources, choice.organizationId, id);
  }
  return undefined;
}

/** The conditions for `findRows`. @throws RpcError NOT_FOUND if a named record does not exist. */
export async function contactConditions(
  filters: ContactFilters,
  resources: Pick<Resources, 'linked' | 'findAt'>,
): Promise<(Condition | undefined)[]> {
  const { email, organizationId } = filters;
  const chosen: Condition[] = [];
  for (const [field, kind] of choices) {
    const id = (filters as unknown as { [field: string]: string | undefined })[field];
    if (id !== undefined) chosen.push(await conditionOf(kind, resources, organizationId, id));
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
    sameValue('region', filters.region),
    sameValue('city', filters.city),
    sameValue('zip', filters.zip),
    ...chosen,
    search(SEARCHED, filters.q),
  ];
}

/** The contacts of a record. @throws RpcError NOT_FOUND if it does not exist. */
async function conditionOf(
  { resource, filterOf }: KindOfContacts,
  resources: Pick<Resources, 'linked' | 'findAt'>,
  organizationId: string,
  id: string,
): Promise<Condition> {
  if (!filterOf) return resources.linked(resource, organizationId, id);
  const record = await resources.findAt(resource, organizationId, id);
  if (!record) throw noSuch(resource.object);
  return { write: (bind) => filterSql(filterOf(record), { bind }) };
}

/** The index ignores case, the filter does not. */
function sameValue(column: string, value: string | undefined): Condition | undefined {
  return compare(`(${withoutCase(column)} = ${withoutCase('?::text')} AND ${column} = ?)`, value);
}
