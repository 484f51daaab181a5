import { newId } from '#libs/random';
import { type Decider, type EventStore, streamIdOf } from '#libs/event-store';
import { type Succession } from '#libs/sealing';

/**
 * Another key signs checkpoints. With the previous public key, `history verify` can follow the change through
 * this event.
 */
export type SigningKeyEvent = { type: 'SigningKeyRotated'; data: Succession };

/** Not a record, so it has no state. */
export const signingKey = {
  streamType: 'signing-key',
  events: { SigningKeyRotated: true },
} as const satisfies Pick<Decider<never, SigningKeyEvent>, 'streamType' | 'events'>;

/** Records the change in the organization's history, once. @returns whether this call recorded it. */
export async function recordSuccession(
  store: EventStore,
  organizationId: string,
  succession: Succession,
): Promise<boolean> {
  const { streamType } = signingKey;
  const { from, to } = succession;
  // One stream per pair of keys, on every instance.
  const streamId = streamIdOf(store.keyring.hash(streamType, organizationId, from, to));
  const event: SigningKeyEvent = { type: 'SigningKeyRotated', data: succession };
  const metadata = { actor: { type: 'system', id: 'command-line' }, requestId: newId() } as const;
  const writes = [{ streamType, streamId, expectedVersion: 0, events: [event] }];
  return (await store.append({ organizationId, metadata, writes })).status === 'appended';
}
