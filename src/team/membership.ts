import { MEMBERS_TABLE } from './members.projection.js';
import { type Role } from './roles.js';

/** That a person is in an organization, and as what. */
export type Membership = { organizationId: string; memberId: string; role: Role };

/** `isCurrent`: they came in, and got their role, before the moment that was asked about. */
export type DatedMembership = Membership & { isCurrent: boolean };

/**
 * SQL for where a person is a member, by the read model of this instance: a JSON array of {@link DatedMembership}, the oldest first.
 *
 * @param userId SQL for who.
 * @param since SQL for a moment. Sessions that began before somebody came in, or their role was changed, are good no more: whoever was
 *   removed and is invited again has left them behind.
 */
export function membershipsOf(userId: string, since = `'infinity'`): string {
  return `ARRAY(SELECT jsonb_build_object('organizationId', organization_id, 'memberId', id, 'role', role,
      'isCurrent', coalesce(state->>'roleChangedAt', state->>'joinedAt')::timestamptz <= ${since})
    FROM ${MEMBERS_TABLE} WHERE user_id = ${userId} AND status = 'ACTIVE' ORDER BY created_at LIMIT 1000)`;
}
