import { v7 as uuidv7 } from 'uuid';
import { type EventStore } from '#libs/event-store';

/** Of one append. */
const AT_ONCE = 500;

/**
 * Signatures of people whom nobody knows, so many that asking for each of them would take long. Answers their ids, in order.
 *
 * @param more of what the events say.
 */
export async function appendSignatures(
  store: EventStore,
  organizationId: string,
  petitionId: string,
  count: number,
  more: { suspicion?: string[] } = {},
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const page = Array.from({ length: Math.min(AT_ONCE, count - ids.length) }, () => uuidv7());
    await store.append({
      organizationId,
      metadata: { actor: { type: 'system', id: 'test' }, requestId: 'test' },
      writes: page.map((streamId) => ({
        streamType: 'signature',
        streamId,
        expectedVersion: 0,
        events: [{ type: 'PetitionSigned', data: { petitionId, contactId: uuidv7(), ...more } }],
      })),
    });
    ids.push(...page);
  }
  return ids;
}
