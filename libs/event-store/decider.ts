import { type DomainEvent, type RecordedEvent } from './event.js';

/** How a record follows from its events: the same for commands, reads of the past, replay and tests. */
export type Decider<State, Event extends DomainEvent> = {
  readonly streamType: string;
  readonly initial: State;
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
export function unborn<State, Event extends DomainEvent>({ initial }: Decider<State, Event>): Folded<State> {
  return { state: initial, version: 0, createdAt: null, updatedAt: null };
}

export function fold<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  events: readonly RecordedEvent<Event>[],
  before: Folded<State> = unborn(decider),
): Folded<State> {
  const last = events.at(-1);
  return {
    state: events.reduce((state, event) => decider.evolve(state, event, event.recordedAt), before.state),
    version: last?.version ?? before.version,
    createdAt: before.createdAt ?? events[0]?.recordedAt ?? null,
    updatedAt: last?.recordedAt ?? before.updatedAt,
  };
}
