import { timingSafeEqual } from 'node:crypto';
import { type Keyring } from '#libs/event-store';

/** Whom a link to unsubscribe is for, and by which broadcast they got it. */
export type Unsubscriber = { organizationId: string; contactId: string; broadcastId: string };

const MAC = 16;
const UUIDS = ['organizationId', 'contactId', 'broadcastId'] as const;

/**
 * 86 characters that need no table: three ids, and 128 bits of their keyed hash, which whoever has not the key cannot make. The
 * hash is by what outlives the master key, so links in old mails hold after that was replaced.
 */
export function unsubscribeToken(keyring: Pick<Keyring, 'hash'>, unsubscriber: Unsubscriber): string {
  const ids = Buffer.concat(UUIDS.map((name) => Buffer.from(unsubscriber[name].replaceAll('-', ''), 'hex')));
  return Buffer.concat([ids, macOf(keyring, ids)]).toString('base64url');
}

/** Undefined where it is none of ours. */
export function readUnsubscribeToken(
  keyring: Pick<Keyring, 'hash'>,
  token: string,
): Unsubscriber | undefined {
  const bytes = Buffer.from(token, 'base64url');
  // Also in its one spelling: Node.js reads past what is no base64url.
  if (bytes.length !== 16 * UUIDS.length + MAC || bytes.toString('base64url') !== token) return undefined;
  const ids = bytes.subarray(0, -MAC);
  if (!timingSafeEqual(macOf(keyring, ids), bytes.subarray(-MAC))) return undefined;
  const [organizationId, contactId, broadcastId] = UUIDS.map((_, n) =>
    uuidOf(ids.subarray(16 * n, 16 * (n + 1))),
  );
  return { organizationId: organizationId!, contactId: contactId!, broadcastId: broadcastId! };
}

function macOf(keyring: Pick<Keyring, 'hash'>, ids: Buffer): Buffer {
  return keyring.hash('unsubscribe', ids.toString('hex')).subarray(0, MAC);
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
