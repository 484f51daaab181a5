import { createHash } from 'node:crypto';
import { type RecordReader } from '#libs/commands';
import { type Decider, streamIdOf } from '#libs/event-store';
import { isId } from '#libs/rpc';

/** Whether everybody may read the organization's log (`/log/…`): its checkpoints, positions and digests. */
export type PublicLog = { isPublic: boolean };

export type PublicLogEvent =
  | { type: 'LogPublished'; data: Record<never, never> }
  | { type: 'LogUnpublished'; data: Record<never, never> };

/**
 * A stream beside the organization's own, although both are one record to who reads it: 0.3.0 refuses to decide on a stream
 * with an event that it does not know, and never loads this one.
 */
export const publicLog: Decider<PublicLog, PublicLogEvent> = {
  streamType: 'public-log',
  initial: { isPublic: false },
  events: { LogPublished: true, LogUnpublished: true },
  evolve(_, event) {
    switch (event.type) {
      case 'LogPublished':
        return { isPublic: true };
      case 'LogUnpublished':
        return { isPublic: false };
    }
  },
};

/** One for each organization, which whoever has its id can tell. */
export function publicLogId(organizationId: string): string {
  return streamIdOf(createHash('sha256').update(`public-log ${organizationId}`).digest());
}

/** @param isPublic undefined to leave it as it is. */
export function publishLog(state: PublicLog, isPublic: boolean | undefined): PublicLogEvent[] {
  if (isPublic === undefined || isPublic === state.isPublic) return [];
  return [{ type: isPublic ? 'LogPublished' : 'LogUnpublished', data: {} }];
}

/** @throws NewerEvent where a later version of this program has written what this one does not know. */
export async function isLogPublic(records: RecordReader, organizationId: string): Promise<boolean> {
  if (!isId(organizationId)) return false;
  const { state } = await records.load(publicLog, organizationId, publicLogId(organizationId));
  return state.isPublic;
}
