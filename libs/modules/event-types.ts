import { type StreamKind } from './product-module.js';

/** A type of events, and the kind of streams in which it stands. */
export type EventType = { readonly type: string; readonly streamType: string };

let all: readonly EventType[] | undefined;

/** Says which types of events there are: those of all streams, by their names. */
export function declareEventTypes(streams: readonly StreamKind[]): void {
  all = streams
    .flatMap(({ streamType, events }) => Object.keys(events).map((type) => ({ type, streamType })))
    .toSorted((one, other) => (one.type < other.type ? -1 : 1));
}

/** @throws Error before they were declared. */
export function allEventTypes(): readonly EventType[] {
  if (!all) throw new Error('Event types are not available before the modules are declared.');
  return all;
}
