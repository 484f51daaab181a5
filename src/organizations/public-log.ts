import { createHash } from 'node:crypto';
import { type RecordReader } from '#libs/commands';
import { type Decider, streamIdOf } from '#libs/event-store';
import { isId } from '#libs/rpc';

/** Whether anyone can read the organization's log (`/log/…`): its checkpoints, positions and digests. */
export type PublicLog = { isPublic: boolean };

export type PublicLogEvent =
  | { type: 'LogPublished'; data: Record<never, never> }
  | { type: 'LogUnpublished'; data: Record<never, never> };

/**
 * A stream next to the organization's own, although the API returns both as one record. Version 0.3.0 rejects
 * commands on a stream with an unknown event, and never loads this one.
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

/** Derived from the organization's id. */
export function publicLogId(organizationId: string): string {
  return streamIdOf(createHash('sha256').update(`public-log ${organizationId}`).digest());
}

/** @param isPublic undefined: unchanged. */
export function publishLog(state: PublicLog, isPublic: boolean | undefined): PublicLogEvent[] {
  if (isPublic === undefined || isPublic === state.isPublic) return [];
  return [{ type: isPublic ? 'LogPublished' : 'LogUnpublished', data: {} }];
}

/** @throws NewerEvent if the stream has an event of a later version. */
export async function isLogPublic(records: RecordReader, organizationId: string): Promise<boolean> {
  if (!isId(organizationId)) return false;
  const { state } = await records.load(publicLog, organizationId, publicLogId(organizationId));
  return state.isPublic;
}
