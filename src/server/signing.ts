import { type Keyring } from '#libs/event-store';
import { Signers } from '#libs/sealing';
import { type Config } from '../config/index.js';

/** The keys that sign checkpoints, the current one first. @param keyring opened for the database. */
export function signersOf(
  { signingKey, previousSigningKeys }: Pick<Config, 'signingKey' | 'previousSigningKeys'>,
  { signingSeed }: Keyring,
): Signers {
  const previous = previousSigningKeys.map((key) => (key === 'derived' ? signingSeed : key));
  return new Signers([signingKey ?? signingSeed, ...previous]);
}
