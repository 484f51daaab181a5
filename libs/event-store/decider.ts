import { type DomainEvent, isObject, type RecordedEvent } from './event.js';

/** How a record follows from its events: the same for commands, reads of the past, replay and tests. */
export type Decider<State, Event extends DomainEvent> = {
  readonly streamType: string;
  readonly initial: State;
  /**
   * All types of its events, also those that are not written yet. Any other is of a later version of this program: it is
   * skipped where a record is shown, and nothing is decided on one that has it.
   */
  readonly events: { readonly [type in Event['type']]: true };
  /** @param at when the event was recorded. */
  evolve(state: State, event: Event, at: Date): State;
};

/** A record folded from its stream. Version 0: there is no such stream. */
export type Folded<State> = {
  state: State;
  version: number;
  /** Times of the first and of the last event; null at version 0. */
  createdAt: Date | null;
  updatedAt: Date | null;
};

/** What there is before the first event. */
export function initialState<State, Event extends DomainEvent>({
  initial,
}: Decider<State, Event>): Folded<State> {
  return { state: initial, version: 0, createdAt: null, updatedAt: null };
}

/** Whether this version of the program knows what the event does: its type, and no damage. */
export function isKnown<State, Event extends DomainEvent>(
  { events }: Pick<Decider<State, Event>, 'events'>,
  event: RecordedEvent,
): event is RecordedEvent<Event> {
  return Object.hasOwn(events, event.type) && isObject(event.data);
}

/** Events that are not known change nothing but the version. */
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
