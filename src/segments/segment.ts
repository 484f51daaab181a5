import { changedFields } from '#libs/commands';
import { type Decider, type Upcasters } from '#libs/event-store';
import { noSuch } from '#libs/rpc';
import { type Filter } from '../contacts/index.js';

export type SegmentFields = { name: string; filter: Filter };

/**
 * Filters of earlier releases have no conditions on custom fields. Those releases would treat one as false, and its negation as
 * true, so they must not read it.
 */
export const segmentShapes: Upcasters = {
  SegmentCreated: { reads: [(body) => body], writes: 'newest' },
  SegmentUpdated: { reads: [(body) => body], writes: 'newest' },
};

export type SegmentEvent =
  | { type: 'SegmentCreated'; data: SegmentFields }
  | { type: 'SegmentUpdated'; data: Partial<SegmentFields> }
  | { type: 'SegmentDeleted'; data: Record<string, never> };

type ExistingSegment = { status: 'EXISTS' } & SegmentFields;
export type Segment = { status: 'UNKNOWN' } | ExistingSegment | { status: 'DELETED' };

export const segment: Decider<Segment, SegmentEvent> = {
  streamType: 'segment',
  initial: { status: 'UNKNOWN' },
  events: { SegmentCreated: true, SegmentUpdated: true, SegmentDeleted: true },
  evolve(state, event) {
    if (event.type === 'SegmentCreated') return { status: 'EXISTS', ...event.data };
    if (state.status !== 'EXISTS') return state;
    switch (event.type) {
      case 'SegmentUpdated':
        return { ...state, ...event.data };
      case 'SegmentDeleted':
        return { status: 'DELETED' };
    }
  },
};

/** Fields that are not given stay unchanged. */
export function updateSegment(state: Segment, given: Partial<SegmentFields>): SegmentEvent[] {
  if (state.status !== 'EXISTS') throw noSuch('segment');
  const data = changedFields<SegmentFields>(state, given);
  return data ? [{ type: 'SegmentUpdated', data }] : [];
}

/** Deleting a deleted segment changes nothing. */
export function deleteSegment(state: Segment): SegmentEvent[] {
  switch (state.status) {
    case 'UNKNOWN':
      throw noSuch('segment');
    case 'EXISTS':
      return [{ type: 'SegmentDeleted', data: {} }];
    case 'DELETED':
      return [];
  }
}
