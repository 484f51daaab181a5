import { MEMBERS_TABLE } from './members.projection.js';
import { type Role } from './roles.js';

export type Membership = { organizationId: string; memberId: string; role: Role };

/** `isCurrent`: it began, and its role was last changed, before the given time. */
export type DatedMembership = Membership & { isCurrent: boolean };

/**
 * SQL that selects a person's memberships from this instance's projection: a JSON array of {@link
 * DatedMembership}, oldest first.
 *
 * @param userId SQL for the user's id.
 * @param since SQL for a time. Sessions that began before the member joined, or before their role changed,
 * are no longer valid. Members who were removed and invited again must therefore sign in again.
 */
export function membershipsOf(userId: string, since = `'infinity'`): string {
  return `ARRAY(SELECT jsonb_build_object('organizationId', organization_id, 'memberId', id, 'role', role,
      'isCurrent', coalesce(state->>'roleChangedAt', state->>'joinedAt')::timestamptz <= ${since})
    FROM ${MEMBERS_TABLE} WHERE user_id = ${userId} AND status = 'ACTIVE' ORDER BY created_at LIMIT 1000)`;
}
