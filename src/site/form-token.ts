import { createHash, timingSafeEqual } from 'node:crypto';
import { type Keyring } from '#libs/event-store';

/** The shortest time in seconds in which a person can fill in the form, and the longest that a page can stay open. */
const MIN_SECONDS = 2;
const MAX_SECONDS = 24 * 3_600;
const MAC = 12;

export type TokenFault = 'tooFast' | 'tooLate';

/** Signs the time at which a form was shown, so that no table is needed. All forms shown in one second have the same token. */
export function formToken(keyring: Pick<Keyring, 'hash'>, petitionId: string, shownAt: Date): string {
  const seconds = Math.floor(shownAt.getTime() / 1_000).toString(36);
  return `${seconds}.${macOf(keyring, petitionId, seconds).toString('base64url')}`;
}

/** @returns undefined if the token is valid. Invalid tokens count as too old, because people only send them from old pages. */
export function faultOf(
  keyring: Pick<Keyring, 'hash'>,
  petitionId: string,
  token: string,
  now: Date,
): TokenFault | undefined {
  const [, seconds = '', mac = ''] = /^([0-9a-z]{1,9})\.([\w-]{16})$/.exec(token) ?? [];
  const given = Buffer.from(mac, 'base64url');
  if (given.length !== MAC || !timingSafeEqual(given, macOf(keyring, petitionId, seconds))) return 'tooLate';
  const age = now.getTime() / 1_000 - parseInt(seconds, 36);
  if (age > MAX_SECONDS) return 'tooLate';
  return age < MIN_SECONDS ? 'tooFast' : undefined;
}

function macOf(keyring: Pick<Keyring, 'hash'>, petitionId: string, seconds: string): Buffer {
  return keyring.hash('form', petitionId, seconds).subarray(0, MAC);
}

/** Identifies the text next to a checkbox, so that no one agrees to a text that they did not see. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 12);
}
