import { Signers } from '#libs/sealing';
import { type Config } from './config.js';

/** The keys that sign checkpoints, the present one first. @param master the encryption key. */
export function signersOf(
  { signingKey, previousSigningKeys }: Pick<Config, 'signingKey' | 'previousSigningKeys'>,
  master: Buffer,
): Signers {
  const derived = Signers.seedOf(master);
  const previous = previousSigningKeys.map((key) => (key === 'derived' ? derived : key));
  return new Signers([signingKey ?? derived, ...previous]);
}
