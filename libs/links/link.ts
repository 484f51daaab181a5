import { newId } from '#libs/random';
import { type Claim } from '#libs/commands';
import {
  type Decider,
  type DomainEvent,
  type JsonObject,
  type RecordedEvent,
  type StreamWrite,
} from '#libs/event-store';
import { type AtErasure, type LinkChange, type PrintedLinks } from '#libs/projections';

/** A link's state according to its stream: its record and person, and whether it is active. */
export type LinkState =
  | { status: 'unknown' }
  | { status: 'standing' | 'ended'; recordId: string; subjectId: string };

/** The kind of people that links refer to. Its module declares it once for all links. */
export type Subject = {
  /** The name of one in the API: `contact`. Events refer to it by `contactId`. */
  object: string;
  /** The event type in its own stream that erases it. */
  erased: string;
};

/** The declaration of a kind of link between a record and a person. */
export type LinkDeclaration = {
  /** The name of the record in the API: `list`. Events refer to it by `listId`. */
  record: string;
  streamType: string;
  begins: string;
  ends: string;
  /**
   * The type of the event that moves a link to another record of the same person. It has the personal data of the first
   * event, encrypted for that record. Its `from` is the record before.
   */
  moves?: string;
  /** The first part of the unique key, which ensures one active link for each record and person. */
  uniqueKey: string;
  atErasure: AtErasure;
  /** The field of the first event's personal data that contains the person's own text. */
  detail?: string;
  suspended?: Suspension;
  settled?: Settled;
  facts?: Facts;
  indexes?: (table: string) => string;
  /** Default: the ids of the link, its record and its person. */
  printed?: PrintedLinks;
};

/**
 * Further data of a link's first event that the projection stores, each in its own column. Must not identify
 * the person.
 */
export type Facts = {
  readonly [column: string]: {
    type: 'text' | 'boolean' | 'timestamptz' | 'uuid';
    /** Removed when the person is erased. */
    isPersonal?: true;
    of: (event: RecordedEvent) => string | boolean | Date | null;
  };
};

export type Counted = {
  /** The types of the events that change them. */
  readonly handles: readonly string[];
  /** The effects of an event on them; none for types not in `handles`. */
  changes(event: RecordedEvent): LinkChange[];
  readonly atErasure: AtErasure;
  readonly isSuspendable: boolean;
  readonly facts?: Facts | undefined;
  /** SQL for additional indexes on the table. */
  readonly indexes?: ((table: string) => string) | undefined;
  /** How a replay prints them. */
  readonly printed?: PrintedLinks | undefined;
};

/**
 * Events of another kind of stream that exclude some links of a record from the count. The `begins` event lists
 * the links in `field`, and `ends` in the same stream lists those to include again.
 */
type Suspension = { begins: string; ends: string; field: string };

/**
 * Events of another kind of stream that change one of the facts, unless it is null. `field` is the id of the link, `values` has the
 * new value by the type of the event.
 */
type Settled = { fact: string; field: string; values: { readonly [type: string]: string } };

/**
 * A kind of link between records and people: signatures, memberships, tags. Each link has its own stream. So a
 * million links of one record never wait for each other, and links of erased people stay distinct. A unique
 * key ensures that only one is active for each record and person. A person who is linked again gets another
 * stream.
 */
export class Link implements Counted {
  /** The fields of both events that contain the ids: `listId`, `contactId`. */
  readonly recordField: string;
  readonly subjectField: string;
  readonly decider: Decider<LinkState, DomainEvent>;

  constructor(
    readonly subject: Subject,
    private readonly declared: LinkDeclaration,
  ) {
    const { record, streamType, begins, ends, moves } = declared;
    this.recordField = `${record}Id`;
    this.subjectField = `${subject.object}Id`;
    this.decider = {
      streamType,
      initial: { status: 'unknown' },
      events: { [begins]: true, [ends]: true, ...(moves ? { [moves]: true } : {}) },
      evolve: (state, { type, data }) => ({
        // A history can move a link after its end, because earlier versions did so in a race.
        status: type === ends || state.status === 'ended' ? 'ended' : 'standing',
        ...this.endsOf(data),
      }),
    };
  }

  get isSuspendable(): boolean {
    return this.declared.suspended !== undefined;
  }

  get facts(): Facts | undefined {
    return this.declared.facts;
  }

  get indexes(): ((table: string) => string) | undefined {
    return this.declared.indexes;
  }

  get printed(): PrintedLinks {
    const { recordField, subjectField, declared } = this;
    return (
      declared.printed ?? {
        object: declared.streamType,
        record: (link) => ({
          id: link.id,
          createdAt: link.createdAt,
          [recordField]: link.recordId,
          [subjectField]: link.subjectId,
          organizationId: link.organizationId,
        }),
      }
    );
  }

  get atErasure(): AtErasure {
    return this.declared.atErasure;
  }

  /** The types of the events that change links. */
  get handles(): string[] {
    const { begins, ends, moves, suspended, settled } = this.declared;
    return [
      begins,
      ends,
      ...(moves ? [moves] : []),
      ...(suspended ? [suspended.begins, suspended.ends] : []),
      ...Object.keys(settled?.values ?? {}),
      this.subject.erased,
    ];
  }

  /** The effects of an event on links; none for types not in `handles`. */
  changes(event: RecordedEvent): LinkChange[] {
    const { begins, ends, moves, detail: field, suspended, settled } = this.declared;
    const detail = field === undefined ? null : ((event.personal?.[field] as string | undefined) ?? null);
    switch (event.type) {
      case begins:
        return [{ kind: 'begins', event, ...this.endsOf(event.data), detail }];
      case moves: {
        const { subjectId } = this.endsOf(event.data);
        return [{ kind: 'moved', event, from: event.data.from as string, subjectId, detail }];
      }
      case ends:
        return [{ kind: 'ends', event, ...this.endsOf(event.data) }];
      case suspended?.begins:
        return [{ kind: 'suspended', event, ...this.suspendedBy(event) }];
      case suspended?.ends:
        return [{ kind: 'resumed', event, ...this.suspendedBy(event) }];
      case this.subject.erased:
        return [{ kind: 'erased', event }];
      default: {
        const value = settled?.values[event.type];
        if (!settled || value === undefined) return [];
        const { [settled.field]: linkId } = event.data;
        return [{ kind: 'set', event, linkId: linkId as string, fact: settled.fact, value }];
      }
    }
  }

  /** The unique value for a record and a person. */
  keyOf(recordId: string, subjectId: string): string[] {
    return [this.declared.uniqueKey, recordId, subjectId];
  }

  /**
   * The write and the claim of a new link, to be appended.
   *
   * @param taken called if the person is already linked: see `Claim`.
   * @param personal the event's personal data.
   * @param more further fields of the event's data, next to record and person.
   * @param linkId of the new link. Chosen by the caller, a repeated attempt cannot begin the same link twice.
   */
  begin(
    recordId: string,
    subjectId: string,
    taken: Claim['taken'],
    personal: JsonObject | null = null,
    more: JsonObject = {},
    linkId = newId(),
  ): { linkId: string; write: StreamWrite; claim: Claim } {
    const event = {
      type: this.declared.begins,
      data: { ...this.dataOf(recordId, subjectId), ...more },
      personal,
    };
    return {
      linkId,
      write: this.write(linkId, 0, event, subjectId),
      claim: { value: this.keyOf(recordId, subjectId), streamId: linkId, taken },
    };
  }

  /**
   * The write that ends an active link, and the key that it releases.
   *
   * @param version of the link's stream: an active link that was not moved has only its first event.
   */
  end(
    linkId: string,
    recordId: string,
    subjectId: string,
    version = 1,
  ): { write: StreamWrite; release: Pick<Claim, 'value' | 'streamId'> } {
    const event = { type: this.declared.ends, data: this.dataOf(recordId, subjectId) };
    return {
      write: this.write(linkId, version, event, subjectId),
      release: { value: this.keyOf(recordId, subjectId), streamId: linkId },
    };
  }

  get isMovable(): boolean {
    return this.declared.moves !== undefined;
  }

  /**
   * The write that moves a link to another record of the same person, and the keys that change hands.
   *
   * @param version of the link's stream.
   * @param personal of its last event, to be encrypted with the key of `to`; null if it was erased.
   * @param taken called if `to` is linked to the record already: see `Claim`.
   */
  move(
    linkId: string,
    recordId: string,
    { from, to }: { from: string; to: string },
    version: number,
    personal: JsonObject | null,
    taken: Claim['taken'],
  ): { write: StreamWrite; claim: Claim; release: Pick<Claim, 'value' | 'streamId'> } {
    const event = { type: this.declared.moves!, data: { ...this.dataOf(recordId, to), from }, personal };
    return {
      write: this.write(linkId, version, event, to),
      claim: { value: this.keyOf(recordId, to), streamId: linkId, taken },
      release: { value: this.keyOf(recordId, from), streamId: linkId },
    };
  }

  private write(
    streamId: string,
    expectedVersion: number,
    event: DomainEvent,
    subjectId: string,
  ): StreamWrite {
    return { streamType: this.decider.streamType, streamId, expectedVersion, events: [event], subjectId };
  }

  private dataOf(recordId: string, subjectId: string): JsonObject {
    return { [this.recordField]: recordId, [this.subjectField]: subjectId };
  }

  private suspendedBy({ data }: RecordedEvent): { recordId: string; linkIds: string[] } {
    return {
      recordId: data[this.recordField] as string,
      linkIds: data[this.declared.suspended!.field] as string[],
    };
  }

  private endsOf(data: JsonObject): { recordId: string; subjectId: string } {
    return { recordId: data[this.recordField] as string, subjectId: data[this.subjectField] as string };
  }
}
