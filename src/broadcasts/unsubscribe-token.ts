import { type Keyring } from '#libs/event-store';
import { readSignedIds, signIds } from '#libs/event-store';

/** The contact an unsubscribe link is for, and the broadcast that contained it. */
export type Unsubscriber = { organizationId: string; contactId: string; broadcastId: string };

const PURPOSE = 'unsubscribe';

/** 86 characters. */
export function unsubscribeToken(
  keyring: Pick<Keyring, 'hash'>,
  { organizationId, contactId, broadcastId }: Unsubscriber,
): string {
  return signIds(keyring, PURPOSE, [organizationId, contactId, broadcastId]);
}

/** Undefined if the token was not issued here. */
export function readUnsubscribeToken(
  keyring: Pick<Keyring, 'hash'>,
  token: string,
): Unsubscriber | undefined {
  const ids = readSignedIds(keyring, PURPOSE, 3, token);
  if (!ids) return undefined;
  const [organizationId, contactId, broadcastId] = ids as [string, string, string];
  return { organizationId, contactId, broadcastId };
}
