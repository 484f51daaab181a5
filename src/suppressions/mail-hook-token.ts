import { timingSafeEqual } from 'node:crypto';
import { type Keyring } from '#libs/event-store';

/** Bytes: of a UUID, and of what proves that this program named it. */
const ID = 16;
const PROOF = 16;

/**
 * Where mail providers report to an organization. The token needs no table: it is the organization's id and a keyed hash of it,
 * whose secret outlives every master key.
 */
export function mailHookOf(keyring: Keyring, organizationId: string): string {
  const id = Buffer.from(organizationId.replaceAll('-', ''), 'hex');
  return `/hooks/mail/${Buffer.concat([id, proofOf(keyring, organizationId)]).toString('base64url')}`;
}

/** The organization of a token; undefined where this program never made it. Takes as long for any of this length. */
export function organizationOfHook(keyring: Keyring, token: string): string | undefined {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== ID + PROOF || bytes.toString('base64url') !== token) return undefined;
  const hex = bytes.subarray(0, ID).toString('hex');
  const organizationId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return timingSafeEqual(bytes.subarray(ID), proofOf(keyring, organizationId)) ? organizationId : undefined;
}

function proofOf(keyring: Keyring, organizationId: string): Buffer {
  return keyring.hash('mail hook', organizationId).subarray(0, PROOF);
}
