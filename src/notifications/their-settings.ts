import { hasScope, type RequestContext, RpcError } from '#libs/rpc';
import { activeMember, type member } from '../team/index.js';

/**
 * Every role may change its own settings, so the scope alone does not protect those of others.
 *
 * @param found the member whose settings are asked for.
 * @throws RpcError NOT_FOUND unless they are a member; INSUFFICIENT_PERMISSIONS if the caller is another member who may not
 *   change the team.
 */
export function requireTheirs(
  { actor, scopes }: Pick<RequestContext, 'actor' | 'scopes'>,
  found: (typeof member)['initial'],
): void {
  const { userId } = activeMember(found);
  if (actor.type !== 'user' || actor.id === userId || hasScope(scopes, 'team:write')) return;
  throw new RpcError(
    'INSUFFICIENT_PERMISSIONS',
    'You can only see and change your own notification settings. Ask a member who may change the team.',
    { reason: 'NOT_YOUR_SETTINGS' },
  );
}
