import { timingSafeEqual } from 'node:crypto';
import { type Keyring } from './keyring.js';

const MAC = 16;

/**
 * A token for links that need no table: ids, and 128 bits of their keyed hash, which cannot be forged without the key. The
 * hashing key survives a replacement of the master key, so links in old emails stay valid.
 *
 * @param purpose the purpose of the link. A token for another purpose is invalid.
 */
export function signIds(keyring: Pick<Keyring, 'hash'>, purpose: string, ids: readonly string[]): string {
  const bytes = Buffer.concat(ids.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex')));
  return Buffer.concat([bytes, macOf(keyring, purpose, bytes)]).toString('base64url');
}

/** @param count the number of ids. @returns undefined if the token is invalid. */
export function readSignedIds(
  keyring: Pick<Keyring, 'hash'>,
  purpose: string,
  count: number,
  token: string,
): string[] | undefined {
  const bytes = Buffer.from(token, 'base64url');
  // Accept only the canonical spelling, because Node.js ignores invalid characters.
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
