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
  /** Position of the last event in the log; 0 at version 0. */
  position: number;
};

export function fold<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  events: readonly RecordedEvent<Event>[],
): Folded<State> {
  const last = events.at(-1);
  return {
    state: events.reduce((state, event) => decider.evolve(state, event, event.recordedAt), decider.initial),
    version: last?.version ?? 0,
    createdAt: events[0]?.recordedAt ?? null,
    updatedAt: last?.recordedAt ?? null,
    position: last?.position ?? 0,
  };
}
