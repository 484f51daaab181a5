import { newId } from '#libs/random';
import { type Decider, type EventStore, streamIdOf } from '#libs/event-store';
import { type Succession } from '#libs/sealing';

/** Another key signs checkpoints: whoever has the one before can follow it here (`history verify`). */
export type SigningKeyEvent = { type: 'SigningKeyRotated'; data: Succession };

/** No record: nobody folds these. */
export const signingKey = {
  streamType: 'signing-key',
  events: { SigningKeyRotated: true },
} as const satisfies Pick<Decider<never, SigningKeyEvent>, 'streamType' | 'events'>;

/** Tells it in the organization's history, once. @returns whether it was told now. */
export async function tellSuccession(
  store: EventStore,
  organizationId: string,
  succession: Succession,
): Promise<boolean> {
  const { streamType } = signingKey;
  const { from, to } = succession;
  // One for each pair of keys, whoever tells it.
  const streamId = streamIdOf(store.keyring.hash(streamType, organizationId, from, to));
  const event: SigningKeyEvent = { type: 'SigningKeyRotated', data: succession };
  const metadata = { actor: { type: 'system', id: 'command-line' }, requestId: newId() } as const;
  const writes = [{ streamType, streamId, expectedVersion: 0, events: [event] }];
  return (await store.append({ organizationId, metadata, writes })).status === 'appended';
}
