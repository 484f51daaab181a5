import { type DomainEvent, isObject, type RecordedEvent } from './event.js';

/** How a record results from its events. Commands, reads of past states, replays and tests all use it. */
export type Decider<State, Event extends DomainEvent> = {
  readonly streamType: string;
  /** Whether its events only serve the product itself: no list proposes their types to integrators. */
  readonly isInternal?: true;
  readonly initial: State;
  /**
   * All types of its events, including those that are not written yet. Other types come from a later version of this
   * program. Reads skip them, and commands on records that have them are rejected.
   */
  readonly events: { readonly [type in Event['type']]: true };
  /** @param at when the event was recorded. */
  evolve(state: State, event: Event, at: Date): State;
  readonly builtIn?: BuiltIn<State>;
};

/** A record that each organization has from its beginning. Its stream is empty until it changes. */
export type BuiltIn<State> = {
  /** Derived from the organization's id. */
  idIn(organizationId: string): string;
  /** What begins it: the first event of the stream with the organization's id. */
  readonly begins: { readonly streamType: string; readonly type: string };
  readonly state: State;
};

/** A record folded from its stream. At version 0, the stream does not exist. */
export type Folded<State> = {
  state: State;
  version: number;
  /** The times of the first and the last event; null at version 0. */
  createdAt: Date | null;
  updatedAt: Date | null;
};

/** A record before its first event. */
export function initialState<State, Event extends DomainEvent>({
  initial,
}: Decider<State, Event>): Folded<State> {
  return { state: initial, version: 0, createdAt: null, updatedAt: null };
}

/** The built-in record that this event begins, if any. */
export function begunBy<State>(
  { builtIn }: { readonly builtIn?: BuiltIn<State> },
  { organizationId, streamType, type, recordedAt }: RecordedEvent,
): (Folded<State> & { id: string }) | undefined {
  if (builtIn?.begins.streamType !== streamType || builtIn.begins.type !== type) return undefined;
  const times = { createdAt: recordedAt, updatedAt: recordedAt };
  return { id: builtIn.idIn(organizationId), state: builtIn.state, version: 0, ...times };
}

/** Whether this version of the program knows the event's type and its data is not damaged. */
export function isKnown<State, Event extends DomainEvent>(
  { events }: Pick<Decider<State, Event>, 'events'>,
  event: RecordedEvent,
): event is RecordedEvent<Event> {
  return Object.hasOwn(events, event.type) && isObject(event.data);
}

/** Applies events to a record. Unknown events change only the version. */
export function fold<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  events: readonly RecordedEvent<Event>[],
  before: Folded<State> = initialState(decider),
): Folded<State> {
  const known = events.filter((event) => isKnown(decider, event));
  return {
    state: known.reduce((state, event) => decider.evolve(state, event, event.recordedAt), before.state),
    version: events.at(-1)?.version ?? before.version,
    createdAt: before.createdAt ?? known[0]?.recordedAt ?? null,
    updatedAt: known.at(-1)?.recordedAt ?? before.updatedAt,
  };
}
