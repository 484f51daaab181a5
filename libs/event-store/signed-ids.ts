import { timingSafeEqual } from 'node:crypto';
import { type Keyring } from './keyring.js';

const MAC = 16;

/**
 * Ids in a link that needs no table, and 128 bits of their keyed hash, which whoever has not the key cannot make. The hash is by what
 * outlives the master key, so links in old mails hold after that was replaced.
 *
 * @param purpose what the link is for: one that was made for another is none.
 */
export function signIds(keyring: Pick<Keyring, 'hash'>, purpose: string, ids: readonly string[]): string {
  const bytes = Buffer.concat(ids.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex')));
  return Buffer.concat([bytes, macOf(keyring, purpose, bytes)]).toString('base64url');
}

/** @param count of the ids. @returns undefined where the token is none of ours. */
export function readSignedIds(
  keyring: Pick<Keyring, 'hash'>,
  purpose: string,
  count: number,
  token: string,
): string[] | undefined {
  const bytes = Buffer.from(token, 'base64url');
  // Also in its one spelling: Node.js reads past what is no base64url.
  if (bytes.length !== 16 * count + MAC || bytes.toString('base64url') !== token) return undefined;
  const ids = bytes.subarray(0, -MAC);
  if (!timingSafeEqual(macOf(keyring, purpose, ids), bytes.subarray(-MAC))) return undefined;
  return Array.from({ length: count }, (_, n) => uuidOf(ids.subarray(16 * n, 16 * (n + 1))));
}

function macOf(keyring: Pick<Keyring, 'hash'>, purpose: string, ids: Buffer): Buffer {
  return keyring.hash(purpose, ids.toString('hex')).subarray(0, MAC);
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
