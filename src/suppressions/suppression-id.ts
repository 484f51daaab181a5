import { type Keyring, streamIdOf } from '#libs/event-store';
import { comparableEmail } from '#libs/rpc';

/**
 * The stream of an address in an organization. The hash needs a secret that no master key's replacement changes, so it tells
 * nobody which address it is, and is the same for ever.
 */
export function suppressionIdOf(keyring: Keyring, organizationId: string, email: string): string {
  return streamIdOf(keyring.hash('suppression', organizationId, comparableEmail(email)));
}
