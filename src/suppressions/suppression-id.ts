import { type Keyring, streamIdOf } from '#libs/event-store';
import { comparableEmail } from '#libs/rpc';

/**
 * The stream id of an address in an organization. It is a keyed hash, so it does not reveal the address. Its
 * key stays the same when master keys are replaced, and so does the id.
 */
export function suppressionIdOf(keyring: Keyring, organizationId: string, email: string): string {
  return streamIdOf(keyring.hash('suppression', organizationId, comparableEmail(email)));
}
