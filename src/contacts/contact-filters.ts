import { compare, type Condition, search, SEARCH_RULE } from '#libs/projections';
import { comparableEmail, Email, Flag, Id, Text, TimeFilters } from '#libs/rpc';
import { type ContactGroups } from './contact-groups.js';
import { SEARCHED } from './contacts.projection.js';

/** Who may choose contacts by a list or a petition learns who is on it. */
export const FILTER_SCOPES = { listId: 'list:read', petitionId: 'petition:read' };

/** What contacts are chosen by: in lists and in exports alike. */
export abstract class ContactFilters extends TimeFilters {
  @Email({ optional: true, description: 'Compared as by create-contact.' })
  email?: string;

  @Flag({ optional: true })
  subscribed?: boolean;

  @Text({ max: 500, optional: true })
  country?: string;

  @Text({ max: 500, optional: true })
  city?: string;

  @Text({ max: 500, optional: true })
  zip?: string;

  @Id({ optional: true, description: 'Only the contacts on this list.' })
  listId?: string;

  @Id({ optional: true, description: 'Only the contacts who have signed this petition.' })
  petitionId?: string;

  @Text({ max: 200, optional: true, description: `Part of a name or of an e-mail address. ${SEARCH_RULE}` })
  q?: string;
}

/** The conditions for `findRows`. @throws RpcError NOT_FOUND when the list or petition does not stand. */
export async function contactConditions(
  filters: ContactFilters,
  groups: ContactGroups,
): Promise<(Condition | undefined)[]> {
  const { email, organizationId } = filters;
  const isMember = async (field: 'listId' | 'petitionId') => {
    const groupId = filters[field];
    return groupId === undefined ? undefined : groups.find(field).members(organizationId, groupId);
  };
  return [
    email === undefined
      ? undefined
      : { sql: 'email_compared = ?', value: comparableEmail(email), selective: true },
    compare('subscribed = ?', filters.subscribed),
    compare('country = ?', filters.country),
    compare('city = ?', filters.city),
    compare('zip = ?', filters.zip),
    await isMember('listId'),
    await isMember('petitionId'),
    search(SEARCHED, filters.q),
  ];
}
