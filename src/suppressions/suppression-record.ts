import { isKnown } from '#libs/event-store';
import { folding, type Replayable } from '#libs/projections';
import { recordSchema, timestamp } from '#libs/rpc';
import { contact } from '../contacts/index.js';
import { suppressedAddress } from './suppressed-address.js';
import { isSuppressed, type Reason, REASONS, suppression } from './suppression.js';

/** A suppression as the API returns it. */
export type SuppressionRecord = {
  id: string;
  createdAt: string;
  reason: Reason;
  email: string | null;
  organizationId: string;
};

export const suppressionSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  reason: { type: 'string', enum: [...REASONS], description: 'The first of the current reasons.' },
  email: {
    type: ['string', 'null'],
    format: 'idn-email',
    description:
      'null once erased, and if no contact has the reported address. The suppression still applies.',
  },
  organizationId: { type: 'string' },
});

export const suppressionIdSchema = recordSchema({ suppressionId: { type: 'string' } });

/**
 * Suppressions in an exported history. An export that began before an erasure still contains the address, so
 * erasures later in the export are applied here.
 */
export const replayableSuppressions: Replayable = {
  object: 'suppression',
  streamTypes: [suppression.streamType, suppressedAddress.streamType, contact.streamType],
  start() {
    const suppressions = folding(suppression);
    const holders = new Map<string, string>();
    const erased = new Set<string>();
    return {
      apply(event) {
        const { type, streamType, streamId, subjectId } = event;
        if (type === 'ContactErased' || type === 'SuppressedAddressErased') erased.add(streamId);
        if (streamType === suppressedAddress.streamType) return isKnown(suppressedAddress, event);
        // The contact module checks whether they are known.
        if (streamType === contact.streamType) return true;
        if (type === 'AddressSuppressed' && subjectId !== null) holders.set(streamId, subjectId);
        return suppressions.apply(event);
      },
      *records() {
        for (const [id, { organizationId, state }] of suppressions.all) {
          if (!isSuppressed(state)) continue;
          const email = erased.has(holders.get(id) ?? '') ? null : state.email;
          const record: SuppressionRecord = {
            id,
            createdAt: state.since!,
            reason: state.reasons[0]!,
            email,
            organizationId,
          };
          yield record;
        }
      },
    };
  },
};
