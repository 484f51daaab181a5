import { timingSafeEqual } from 'node:crypto';
import { type Keyring } from '#libs/event-store';

/** Bytes of an organization's id, and of the MAC. */
const ID = 16;
const PROOF = 16;

/**
 * The token in the address to which mail providers report. It needs no table: it consists of the
 * organization's id and a keyed hash, whose key stays the same when master keys are replaced.
 */
export function mailHookOf(keyring: Keyring, organizationId: string): string {
  const id = Buffer.from(organizationId.replaceAll('-', ''), 'hex');
  return `/hooks/mail/${Buffer.concat([id, proofOf(keyring, organizationId)]).toString('base64url')}`;
}

/**
 * The organization of a token; undefined if it was not issued here. Takes the same time for any token of this
 * length.
 */
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
