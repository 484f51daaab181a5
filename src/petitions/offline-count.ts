import { type Decider } from '#libs/event-store';
import { noSuch } from '#libs/rpc';

type OfflineCountFields = {
  petitionId: string;
  /** The number of signatures. */
  count: number;
  /** The last day on which they were collected, such as `2026-11-20`. */
  collectedOn: string;
  note: string | null;
};

export type OfflineCountEvent =
  | { type: 'OfflineSignaturesRecorded'; data: OfflineCountFields }
  | { type: 'OfflineSignaturesWithdrawn'; data: { petitionId: string } };

export const OFFLINE_STATUSES = ['COUNTED', 'WITHDRAWN'] as const;

export type OfflineCount =
  | { status: 'UNKNOWN' }
  | ({ status: (typeof OFFLINE_STATUSES)[number] } & OfflineCountFields);

/** A number of signatures that were collected on paper. It contains no personal data. */
export const offlineCount: Decider<OfflineCount, OfflineCountEvent> = {
  streamType: 'offline-count',
  initial: { status: 'UNKNOWN' },
  events: { OfflineSignaturesRecorded: true, OfflineSignaturesWithdrawn: true },
  evolve(state, { type, data }) {
    if (type === 'OfflineSignaturesRecorded') return { status: 'COUNTED', ...data };
    return state.status === 'UNKNOWN' ? state : { ...state, status: 'WITHDRAWN' };
  },
};

/** Repeating it changes nothing. @throws RpcError NOT_FOUND if the count does not exist, or belongs to a petition other than `of`. */
export function withdrawCount(state: OfflineCount, of?: string): OfflineCountEvent[] {
  if (state.status === 'UNKNOWN' || (of !== undefined && state.petitionId !== of))
    throw noSuch('offline-count');
  if (state.status === 'WITHDRAWN') return [];
  return [{ type: 'OfflineSignaturesWithdrawn', data: { petitionId: state.petitionId } }];
}
