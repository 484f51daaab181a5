import { type StreamKind } from './product-module.js';

export type EventType = { readonly type: string; readonly streamType: string; readonly isInternal: boolean };

let all: readonly EventType[] | undefined;

export function declareEventTypes(streams: readonly StreamKind[]): void {
  all = streams
    .flatMap(({ streamType, events, isInternal = false }) =>
      Object.keys(events).map((type) => ({ type, streamType, isInternal })),
    )
    .toSorted((one, other) => (one.type < other.type ? -1 : 1));
}

/** @throws Error before `declareEventTypes`. */
export function allEventTypes(): readonly EventType[] {
  if (!all) throw new Error('Event types are not available before the modules are declared.');
  return all;
}
