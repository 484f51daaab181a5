import { allScopes, hasScope, RpcError } from '#libs/rpc';

export const ROLES = ['OWNER', 'ADMIN', 'EDITOR', 'VIEWER', 'AUDITOR'] as const;
export type Role = (typeof ROLES)[number];

/** What an editor works on, service by service. */
const CAMPAIGNING = ['contact', 'petition', 'post', 'list', 'tag', 'image', 'broadcast', 'suppression'];
/** What everybody sees of the organization that they are in. */
const COMMON = ['organization:read', 'team:read'];

const MAY: Record<Role, (scope: string) => boolean> = {
  OWNER: () => true,
  // Everything by its name: `*`, by which owners are made, is the owners' alone.
  ADMIN: (scope) => scope !== '*',
  EDITOR: (scope) => COMMON.includes(scope) || CAMPAIGNING.includes(scope.split(':')[0]!),
  VIEWER: (scope) =>
    COMMON.includes(scope) || (CAMPAIGNING.includes(scope.split(':')[0]!) && scope.endsWith(':read')),
  AUDITOR: (scope) => [...COMMON, 'history:read', 'api-key:read', 'webhook:read'].includes(scope),
};

/** What a role may do: the one table of it, which the documentation prints. */
export function scopesOf(role: Role): readonly string[] {
  return role === 'OWNER' ? ['*'] : allScopes().filter((scope) => MAY[role](scope));
}

/**
 * Otherwise whoever may invite could invite an owner, or take an owner's role away.
 *
 * @param own scopes of who asks.
 * @throws RpcError INSUFFICIENT_PERMISSIONS naming what they lack of the role.
 */
export function requireRole(own: readonly string[], role: Role): void {
  const lacking = scopesOf(role).filter((scope) => !hasScope(own, scope));
  if (lacking.length === 0) return;
  throw new RpcError(
    'INSUFFICIENT_PERMISSIONS',
    `The role ${role} has more permissions than yours: you lack ${lacking.slice(0, 5).join(', ')}. Ask a member ` +
      'who has them.',
    { reason: 'ROLE_EXCEEDS_YOURS' },
  );
}
