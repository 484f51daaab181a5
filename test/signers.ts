import { v7 as uuidv7 } from 'uuid';
import { type EventStore } from '#libs/event-store';

/** Signatures per append. */
const AT_ONCE = 500;

/**
 * Appends signatures of unknown people directly, because one request for each would take long. Returns their ids in order.
 *
 * @param more additional event data
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
