import { type Decider, type DomainEvent } from '#libs/event-store';

/** `given(decider, events).when(decision).then(events)` tests a decision in terms of the domain. */
export function given<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
  events: NoInfer<Event>[],
) {
  const state = events.reduce((folded, event) => decider.evolve(folded, event, new Date(0)), decider.initial);
  return {
    when(decide: (state: State) => Event[]) {
      return {
        then(expected: Event[]) {
          expect(decide(state)).toEqual(expected);
        },
        thenThrows(code: string) {
          expect(() => decide(state)).toThrow(expect.objectContaining({ code }));
        },
      };
    },
  };
}
