import { canonical, type Decider, type DomainEvent, type Guard, type StreamWrite } from '#libs/event-store';

/** What a command decided to do. */
export type Decision = {
  /** The record the answer is about. */
  recordId: string;
  writes: readonly StreamWrite[];
  /** Records that the decision rests on without changing them: they stay as they were until it is stored. */
  guards?: readonly Guard[];
  /**
   * Of creates: as long as the record stands and still has what names it, the same input again is the same
   * request, and answers this record instead of making another. See `Commands.named`.
   */
  creates?: TwinCheck;
  /** Values only one record of the organization may have, such as `['contact.email', address]`. */
  claims?: readonly Claim[];
  /** Values that these records no longer take. */
  releases?: readonly Pick<Claim, 'value' | 'streamId'>[];
  /** Records that take no such value any more. */
  releasesAll?: readonly string[];
  /** Persons who are erased: see `AppendCommand`. */
  erases?: readonly string[];
};

export type Claim = {
  value: readonly string[];
  streamId: string;
  /** What to do when the record `owner` has it; undefined: decide again. */
  taken: (owner: string) => Promise<Decision | undefined> | Decision | undefined;
};

/** Whether a record that a create made before is still what the same create asks for, and its version when asked. */
export type TwinCheck = (recordId: string) => Promise<{ holds: boolean; version: number }>;

/** The record that a command was about, and its version when the command was first answered. */
export type Outcome = { recordId: string; version: number };

/** Events without personal data for one stream. */
export function writeTo<State, Event extends DomainEvent>(
  { streamType }: Decider<State, Event>,
  streamId: string,
  expectedVersion: number,
  events: readonly Event[],
): StreamWrite {
  return { streamType, streamId, expectedVersion, events };
}

/** Of the fields given, those that differ; undefined if none does. */
export function changedFields<Fields extends object>(
  before: Fields,
  given: Partial<Fields>,
): Partial<Fields> | undefined {
  const changed = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !isSameJson(value, before[name as keyof Fields]),
  );
  return changed.length > 0 ? (Object.fromEntries(changed) as Partial<Fields>) : undefined;
}

/** The version of the decision's record once it is stored. */
export function versionAfter({ recordId, writes, guards = [] }: Decision): number {
  const write = writes.find(({ streamId }) => streamId === recordId);
  if (write) return write.expectedVersion + write.events.length;
  return guards.find(({ streamId }) => streamId === recordId)?.version ?? 0;
}

/** That there is nothing to do was decided on a version too. */
export function unchanged(writes: readonly StreamWrite[]): Guard[] {
  return writes.flatMap(({ events, streamId, expectedVersion }) =>
    events.length === 0 && expectedVersion > 0 ? [{ streamId, version: expectedVersion }] : [],
  );
}

export function eventTypes({ writes }: Decision): string[] {
  return writes.flatMap(({ events }) => events.map(({ type }) => type));
}

/** As it is stored: -0 is 0, and the order of keys says nothing. */
function isSameJson(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}
