import { type Decider, type DomainEvent, type Folded, isKnown, type RecordedEvent } from '#libs/event-store';

/** The effect of an event on links. */
export type LinkChange =
  | { kind: 'begins'; event: RecordedEvent; recordId: string; subjectId: string; detail?: string | null }
  | { kind: 'ends'; event: RecordedEvent; recordId: string; subjectId: string }
  /** The link belongs to another record of the same person. */
  | { kind: 'moved'; event: RecordedEvent; from: string; subjectId: string; detail?: string | null }
  /** Suspended links do not count until the same stream resumes them. */
  | { kind: 'suspended' | 'resumed'; event: RecordedEvent; recordId: string; linkIds: readonly string[] }
  /** The subject, to whose stream the event belongs, was erased. */
  | { kind: 'erased'; event: RecordedEvent };

/** The effect of a person's erasure on their links. */
export type AtErasure = 'loses its name' | 'ends';

/** Links that are counted per record, event by event. */
export type CountedLinks = { changes: (event: RecordedEvent) => LinkChange[]; atErasure: AtErasure };

/** A kind of records that can be rebuilt in memory from the history. */
export type Replayable = {
  /** Its name in the API, such as `petition`. */
  readonly object: string;
  /** The types of the streams that its records consist of. */
  readonly streamTypes: readonly string[];
  /** The links that are counted on its records. */
  readonly links?: readonly CountedLinks[];
  start(): {
    /** @returns false if the event's type is unknown, because a later version of this program wrote it. */
    apply: (event: RecordedEvent) => boolean;
    /** The existing records in the API's format, in the order of their first events. */
    records: (counts: (id: string) => number[]) => Iterable<object>;
  };
};

/** @param record the record in the API's format; undefined if it is deleted. */
export function replayable<State, Event extends DomainEvent>(
  object: string,
  decider: Decider<State, Event>,
  record: (organizationId: string, id: string, folded: Folded<State>, counts: number[]) => object | undefined,
  links: readonly CountedLinks[] = [],
): Replayable {
  return {
    object,
    streamTypes: [decider.streamType],
    links,
    start() {
      const { all, apply } = folding(decider);
      return {
        apply,
        *records(counts) {
          for (const [id, folded] of all) {
            const found = record(folded.organizationId, id, folded, counts(id));
            if (found) yield found;
          }
        },
      };
    },
  };
}

/** Folds streams of one kind, in memory. */
export function folding<State, Event extends DomainEvent>(
  decider: Decider<State, Event>,
): {
  /** By their ids, in the order of their first events. */
  all: ReadonlyMap<string, Folded<State> & { organizationId: string }>;
  /** @returns whether the event is known. */
  apply: (event: RecordedEvent) => boolean;
} {
  const all = new Map<string, Folded<State> & { organizationId: string }>();
  return {
    all,
    apply(event) {
      if (!isKnown(decider, event)) return false;
      const before = all.get(event.streamId);
      const state = decider.evolve(before?.state ?? decider.initial, event, event.recordedAt);
      all.set(event.streamId, {
        organizationId: event.organizationId,
        state,
        version: event.version,
        createdAt: before?.createdAt ?? event.recordedAt,
        updatedAt: event.recordedAt,
      });
      return true;
    },
  };
}

/**
 * Rebuilds records from events in order.
 *
 * @param onUnknown called for events of an unknown type, which are skipped.
 * @returns the records of each kind.
 */
export async function replay(
  kinds: readonly Replayable[],
  events: AsyncIterable<RecordedEvent>,
  onUnknown: (event: RecordedEvent) => void = () => undefined,
): Promise<{ object: string; records: Iterable<object> }[]> {
  const running = kinds.map((kind) => ({
    kind,
    ...kind.start(),
    counters: (kind.links ?? []).map((links) => new LinkCounter(links)),
  }));
  const byStream = new Map<string, typeof running>();
  for (const one of running) {
    for (const type of one.kind.streamTypes) byStream.set(type, [...(byStream.get(type) ?? []), one]);
  }
  for await (const event of events) {
    const known = (byStream.get(event.streamType) ?? []).map(({ apply }) => apply(event));
    if (known.includes(false)) onUnknown(event);
    for (const { counters } of running) for (const counter of counters) counter.apply(event);
  }
  return running.map(({ kind, records, counters }) => ({
    object: kind.object,
    records: records((id) => counters.map(({ numbers }) => numbers.get(id) ?? 0)),
  }));
}

/** Counts active links per record, in memory. */
class LinkCounter {
  readonly numbers = new Map<string, number>();
  /** The record of each link that has not ended. */
  private readonly active = new Map<string, string>();
  private readonly bySubject = new Map<string, Set<string>>();
  /** The stream that suspended each suspended link. */
  private readonly suspended = new Map<string, string>();

  constructor(private readonly links: CountedLinks) {}

  apply(event: RecordedEvent): void {
    for (const change of this.links.changes(event)) {
      const { streamId } = change.event;
      switch (change.kind) {
        case 'begins':
          this.active.set(streamId, change.recordId);
          if (!this.bySubject.has(change.subjectId)) this.bySubject.set(change.subjectId, new Set());
          this.bySubject.get(change.subjectId)!.add(streamId);
          this.count(change.recordId, +1);
          break;
        case 'ends':
          this.end(streamId);
          this.bySubject.get(change.subjectId)?.delete(streamId);
          break;
        case 'moved':
          this.bySubject.get(change.from)?.delete(streamId);
          if (!this.bySubject.has(change.subjectId)) this.bySubject.set(change.subjectId, new Set());
          this.bySubject.get(change.subjectId)!.add(streamId);
          break;
        case 'suspended':
          for (const id of change.linkIds) {
            if (this.active.get(id) !== change.recordId || this.suspended.has(id)) continue;
            this.suspended.set(id, streamId);
            this.count(change.recordId, -1);
          }
          break;
        case 'resumed':
          for (const id of change.linkIds) {
            if (this.suspended.get(id) !== streamId) continue;
            this.suspended.delete(id);
            this.count(change.recordId, +1);
          }
          break;
        case 'erased':
          if (this.links.atErasure === 'ends') {
            for (const id of this.bySubject.get(streamId) ?? []) this.end(id);
          }
          this.bySubject.delete(streamId);
      }
    }
  }

  private end(id: string): void {
    const recordId = this.active.get(id);
    if (recordId === undefined) return;
    this.active.delete(id);
    if (!this.suspended.delete(id)) this.count(recordId, -1);
  }

  private count(recordId: string, difference: number): void {
    this.numbers.set(recordId, (this.numbers.get(recordId) ?? 0) + difference);
  }
}
