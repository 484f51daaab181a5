import { v7 as uuidv7 } from 'uuid';
import { type EventStore } from '#libs/event-store';
import { type Client, type Product } from './harness.js';

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
  more: { suspicion?: string[]; signedAt?: string } = {},
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

/** Signs as on the petition's page, with a public comment, and confirms. @returns the id of the signature. */
export async function signWithComment(
  api: Product,
  client: Client,
  petitionId: string,
  details: { email: string; comment: string; firstName?: string },
): Promise<string> {
  const { organizationId } = client;
  const { requestId } = await api.run<{ requestId: string }>('RequestSignature', organizationId, {
    ...{ petitionId, firstName: 'Ada', lastName: null, zip: null, country: null, ...details },
    ...{ source: null, suspicion: [], isCommentPublic: true, subscribe: false, clientAddress: null },
  });
  await api.run('ConfirmSignature', organizationId, { requestId, isProved: true });
  const newest = { petitionId, commentState: 'WAITING', sort: '-createdAt', limit: '1' };
  return (await client.get('petition.list-signatures', newest)).body.data[0].id as string;
}
