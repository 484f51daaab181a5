import { currentScope, RpcError } from '#libs/rpc';

/** Without this check, anyone with a limited key could create an unlimited one. */
export function requireScopes(own: readonly string[], granted: readonly string[], advice: string): void {
  if (own.includes('*')) return;
  const had = own.map(currentScope);
  const lacking = granted.map(currentScope).filter((scope) => !had.includes(scope));
  if (lacking.length === 0) return;
  throw new RpcError(
    'INSUFFICIENT_PERMISSIONS',
    `A key can only grant scopes that it has itself, and this one lacks ${lacking.join(', ')}. ${advice}`,
    { reason: 'KEY_EXCEEDS_YOURS' },
  );
}
