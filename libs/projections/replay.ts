import {
  begunBy,
  type Decider,
  type DomainEvent,
  type Folded,
  isKnown,
  type RecordedEvent,
} from '#libs/event-store';

export type LinkChange =
  | { kind: 'begins'; event: RecordedEvent; recordId: string; subjectId: string; detail?: string | null }
  | { kind: 'ends'; event: RecordedEvent; recordId: string; subjectId: string }
  /** The link belongs to another record of the same person. */
  | { kind: 'moved'; event: RecordedEvent; from: string; subjectId: string; detail?: string | null }
  /** Suspended links do not count until the same stream resumes them. */
  | { kind: 'suspended' | 'resumed'; event: RecordedEvent; recordId: string; linkIds: readonly string[] }
  /** Another stream changed a fact of the link. A fact that is null stays null. */
  | { kind: 'set'; event: RecordedEvent; linkId: string; fact: string; value: string }
  /** The subject, to whose stream the event belongs, was erased. */
  | { kind: 'erased'; event: RecordedEvent };

/** The effect of a person's erasure on their links. */
export type AtErasure = 'loses its name' | 'ends';

/** A link that has not ended. */
type ReplayedLink = {
  id: string;
  organizationId: string;
  createdAt: Date;
  recordId: string;
  /** null once the person was erased. */
  subjectId: string | null;
  /** The person's own text. */
  detail: string | null;
  /** The stream that suspended it. */
  suspendedBy: string | null;
  facts: { [name: string]: unknown };
};

/** Links that are counted per record, event by event. */
export type CountedLinks = {
  changes: (event: RecordedEvent) => LinkChange[];
  atErasure: AtErasure;
  /** Prints each link as a record of this kind. `facts` come from its first event and must not identify the person. */
  printed?: PrintedLinks | undefined;
};

export type PrintedLinks = {
  object: string;
  facts?: (event: RecordedEvent) => { [name: string]: unknown };
  record: (link: ReplayedLink) => object;
};

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

/** A stream next to a record's own, whose state consists of further fields of the record. */
export type StreamBeside = { decider: Decider<object, DomainEvent>; idOf: (recordId: string) => string };

/** @param record the record in the API's format; undefined if it is deleted. */
export function replayable<State, Event extends DomainEvent>(
  object: string,
  decider: Decider<State, Event>,
  record: (organizationId: string, id: string, folded: Folded<State>, counts: number[]) => object | undefined,
  links: readonly CountedLinks[] = [],
  beside?: StreamBeside,
): Replayable {
  return {
    object,
    streamTypes: [
      decider.streamType,
      ...(decider.builtIn ? [decider.builtIn.begins.streamType] : []),
      ...(beside ? [beside.decider.streamType] : []),
    ],
    links,
    start() {
      const { all, apply } = folding(decider);
      const others = beside && folding(beside.decider);
      return {
        apply: (event) =>
          event.streamType === beside?.decider.streamType ? others!.apply(event) : apply(event),
        *records(counts) {
          for (const [id, folded] of all) {
            const found = record(folded.organizationId, id, folded, counts(id));
            if (!found) continue;
            yield beside
              ? { ...found, ...(others!.all.get(beside.idOf(id))?.state ?? beside.decider.initial) }
              : found;
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
      const begun = begunBy(decider, event);
      if (begun) all.set(begun.id, { organizationId: event.organizationId, ...begun });
      if (event.streamType !== decider.streamType) return true;
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
 * @returns the records of each kind, followed by the links that it counts.
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
  return running.flatMap(({ kind, records, counters }) => [
    {
      object: kind.object,
      records: records((id) => counters.map(({ numbers }) => numbers.get(id) ?? 0)),
    },
    ...counters.flatMap((counter) => counter.printed()),
  ]);
}

/** The links of a kind of records, and their number per record, in memory. */
class LinkCounter {
  readonly numbers = new Map<string, number>();
  /** Links that have not ended, in the order of their first events. */
  private readonly active = new Map<string, ReplayedLink>();
  private readonly bySubject = new Map<string, Set<string>>();

  constructor(private readonly links: CountedLinks) {}

  printed(): { object: string; records: Iterable<object> }[] {
    const { printed } = this.links;
    return printed ? [{ object: printed.object, records: mapped(this.active.values(), printed.record) }] : [];
  }

  apply(event: RecordedEvent): void {
    for (const change of this.links.changes(event)) {
      const { streamId } = change.event;
      switch (change.kind) {
        case 'begins': {
          const { organizationId, recordedAt: createdAt } = event;
          const { recordId, subjectId, detail = null } = change;
          const facts = this.links.printed?.facts?.(event) ?? {};
          const link = { id: streamId, organizationId, createdAt, recordId, subjectId, detail, facts };
          this.active.set(streamId, { ...link, suspendedBy: null });
          this.linksOf(subjectId).add(streamId);
          this.count(recordId, +1);
          break;
        }
        case 'ends':
          this.end(streamId);
          this.bySubject.get(change.subjectId)?.delete(streamId);
          break;
        case 'moved': {
          const { from, subjectId, detail = null } = change;
          this.bySubject.get(from)?.delete(streamId);
          this.linksOf(subjectId).add(streamId);
          const link = this.active.get(streamId);
          if (link) Object.assign(link, { subjectId, detail });
          break;
        }
        case 'suspended':
          for (const id of change.linkIds) {
            const link = this.active.get(id);
            if (link?.recordId !== change.recordId || link.suspendedBy !== null) continue;
            link.suspendedBy = streamId;
            this.count(change.recordId, -1);
          }
          break;
        case 'resumed':
          for (const id of change.linkIds) {
            const link = this.active.get(id);
            if (link?.suspendedBy !== streamId) continue;
            link.suspendedBy = null;
            this.count(change.recordId, +1);
          }
          break;
        case 'set': {
          const facts = this.active.get(change.linkId)?.facts;
          if (facts && facts[change.fact] !== null) facts[change.fact] = change.value;
          break;
        }
        case 'erased':
          for (const id of this.bySubject.get(streamId) ?? []) {
            if (this.links.atErasure === 'ends') this.end(id);
            else Object.assign(this.active.get(id) ?? {}, { subjectId: null, detail: null });
          }
          this.bySubject.delete(streamId);
      }
    }
  }

  private linksOf(subjectId: string): Set<string> {
    let links = this.bySubject.get(subjectId);
    if (!links) this.bySubject.set(subjectId, (links = new Set()));
    return links;
  }

  private end(id: string): void {
    const link = this.active.get(id);
    if (!link) return;
    this.active.delete(id);
    if (link.suspendedBy === null) this.count(link.recordId, -1);
  }

  private count(recordId: string, difference: number): void {
    this.numbers.set(recordId, (this.numbers.get(recordId) ?? 0) + difference);
  }
}

function* mapped<From, To>(all: Iterable<From>, to: (one: From) => To): Iterable<To> {
  for (const one of all) yield to(one);
}
