import { allScopes, hasScope, RpcError } from '#libs/rpc';
import { groupsOfContacts } from '../contacts/index.js';

export const ROLES = ['OWNER', 'ADMIN', 'EDITOR', 'VIEWER', 'AUDITOR'] as const;
export type Role = (typeof ROLES)[number];

/** The services that editors can use, in addition to all groups of contacts. */
const CAMPAIGNING = [
  'contact',
  'petition',
  'post',
  'form',
  'signature',
  'segment',
  'image',
  'broadcast',
  'suppression',
  'field',
  'view',
  'note',
];
/** Everything that all members can see of their organization. */
const COMMON = ['organization:read', 'team:read'];
/** The notifications that members of these roles can get are about records that they may see. */
const NOTIFIED = [...COMMON, 'notification:read', 'notification:write'];

const isCampaigning = (scope: string) => {
  const service = scope.split(':')[0]!;
  return CAMPAIGNING.includes(service) || groupsOfContacts().some(({ kind }) => kind === service);
};

const HAS_SCOPE: Record<Role, (scope: string) => boolean> = {
  OWNER: () => true,
  // Lists every scope by name: only owners have `*`, which can create owners.
  ADMIN: (scope) => scope !== '*',
  EDITOR: (scope) => NOTIFIED.includes(scope) || isCampaigning(scope),
  VIEWER: (scope) => NOTIFIED.includes(scope) || (isCampaigning(scope) && scope.endsWith(':read')),
  AUDITOR: (scope) => [...COMMON, 'history:read', 'api-key:read', 'webhook:read'].includes(scope),
};

/** The scopes of each role. The documentation prints this table. */
export function scopesOf(role: Role): readonly string[] {
  return role === 'OWNER' ? ['*'] : allScopes().filter((scope) => HAS_SCOPE[role](scope));
}

/**
 * Without this check, anyone who can invite could invite an owner, or take away an owner's role.
 *
 * @param own scopes of the caller.
 * @throws RpcError INSUFFICIENT_PERMISSIONS naming the scopes of the role that the caller lacks.
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
