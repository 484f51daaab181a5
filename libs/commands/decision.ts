import { canonical, type Decider, type DomainEvent, type Guard, type StreamWrite } from '#libs/event-store';

/** The changes that a command decided on. */
export type Decision = {
  /** The record to return. */
  recordId: string;
  /** The version of the record before, if it is not that of the stream with its id: a record can have several streams. */
  recordVersion?: number;
  writes: readonly StreamWrite[];
  /** Records that the decision depends on without changing them. They must not change until it is stored. */
  guards?: readonly Guard[];
  /**
   * For creates: as long as the check accepts the record, the same input again counts as the same request. It returns this
   * record instead of creating another. See `Commands.named`.
   */
  creates?: TwinCheck;
  /** Values that only one record of the organization may have, such as `['contact.email', address]`. */
  claims?: readonly Claim[];
  /** Unique values that these records release. */
  releases?: readonly Pick<Claim, 'value' | 'streamId'>[];
  /** Records that release all their unique values. */
  releasesAll?: readonly string[];
  /** Persons to erase: see `AppendCommand`. */
  erases?: readonly string[];
};

export type Claim = {
  value: readonly string[];
  streamId: string;
  /** Called if the record `owner` has the value. If it returns undefined, the command decides again. */
  taken: (owner: string) => Promise<Decision | undefined> | Decision | undefined;
};

/** Whether a record created before is still the result of the same input, and its current version. */
export type TwinCheck = (recordId: string) => Promise<{ holds: boolean; version: number }>;

/**
 * A command's record, its version when the command was first answered, and whether it was created then. Versions before 0.9.0
 * stored no `created` with an Idempotency-Key.
 */
export type Outcome = { recordId: string; version: number; created?: boolean };

/** A write of events without personal data to one stream. */
export function writeTo<State, Event extends DomainEvent>(
  { streamType }: Decider<State, Event>,
  streamId: string,
  expectedVersion: number,
  events: readonly Event[],
): StreamWrite {
  return { streamType, streamId, expectedVersion, events };
}

/** The given fields that differ; undefined if none does. */
export function changedFields<Fields extends object>(
  before: Fields,
  given: Partial<Fields>,
): Partial<Fields> | undefined {
  const changed = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !isSameJson(value, before[name as keyof Fields]),
  );
  return changed.length > 0 ? (Object.fromEntries(changed) as Partial<Fields>) : undefined;
}

/** The version of the decision's record before it is stored. */
export function versionBefore({ recordId, recordVersion, writes, guards = [] }: Decision): number {
  if (recordVersion !== undefined) return recordVersion;
  const write = writes.find(({ streamId }) => streamId === recordId);
  return write?.expectedVersion ?? guards.find(({ streamId }) => streamId === recordId)?.version ?? 0;
}

/** The version of the decision's record once it is stored. */
export function versionAfter({ recordId, writes, guards = [] }: Decision): number {
  const write = writes.find(({ streamId }) => streamId === recordId);
  if (write) return write.expectedVersion + write.events.length;
  return guards.find(({ streamId }) => streamId === recordId)?.version ?? 0;
}

/** Guards for streams without new events, because the decision to write nothing depends on their versions too. */
export function unchanged({ writes, recordVersion }: Decision): Guard[] {
  const isKnown = (version: number) => version > 0 || recordVersion !== undefined;
  return writes.flatMap(({ events, streamId, expectedVersion }) =>
    events.length === 0 && isKnown(expectedVersion) ? [{ streamId, version: expectedVersion }] : [],
  );
}

/**
 * The writes to store. If the record has several streams, the one with its id is always locked, because no lock
 * guards streams that have not begun.
 */
export function storedWrites({ writes, recordVersion, recordId }: Decision): StreamWrite[] {
  const isLocked = (streamId: string) => recordVersion !== undefined && streamId === recordId;
  return writes.filter(({ events, streamId }) => events.length > 0 || isLocked(streamId));
}

export function eventTypes({ writes }: Decision): string[] {
  return writes.flatMap(({ events }) => events.map(({ type }) => type));
}

/** Compares values as they are stored: -0 equals 0, and the order of keys does not matter. */
function isSameJson(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}
