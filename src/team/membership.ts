import { MEMBERS_TABLE } from './members.projection.js';
import { type Role } from './roles.js';

/** That a person is in an organization, and as what. */
export type Membership = { organizationId: string; memberId: string; role: Role };

/**
 * SQL for where a person is a member, by the read model of this instance: a JSON array of {@link Membership}, the oldest first.
 *
 * @param userId SQL for who.
 * @param since SQL for a moment: where they came in, or their role was changed, after it they have none. Sessions that began before are
 *   good no more: whoever was removed and is invited again has left them behind.
 */
export function membershipsOf(userId: string, since = `'infinity'`): string {
  return `ARRAY(SELECT jsonb_build_object('organizationId', organization_id, 'memberId', id, 'role', role) FROM ${MEMBERS_TABLE}
    WHERE user_id = ${userId} AND status = 'ACTIVE' AND coalesce(state->>'roleChangedAt', state->>'joinedAt')::timestamptz <= ${since}
    ORDER BY created_at LIMIT 1000)`;
}
