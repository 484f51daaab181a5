import { newId } from '#libs/random';
import { type Claim } from '#libs/commands';
import {
  type Decider,
  type DomainEvent,
  type JsonObject,
  type RecordedEvent,
  type StreamWrite,
} from '#libs/event-store';
import { type AtErasure, type LinkChange } from '#libs/projections';

/** A link, as its stream tells: of which record and which person, and whether it stands. */
export type LinkState =
  | { status: 'unknown' }
  | { status: 'standing' | 'ended'; recordId: string; subjectId: string };

/** What persons links are of: the module that has them says it once for all links. */
export type Subject = {
  /** The API's name of one: `contact`; the events name it as `contactId`. */
  object: string;
  /** The event of its own stream with which it is erased. */
  erased: string;
};

/** All that is declared of a kind of link between a record and a person. */
export type LinkDeclaration = {
  /** The API's name of the record: `list`; the events name it as `listId`. */
  record: string;
  streamType: string;
  /** The event that begins a link, and the one that ends it. */
  begins: string;
  ends: string;
  /** What the unique key begins with: one standing link for each record and person. */
  uniqueKey: string;
  atErasure: AtErasure;
  /** The field of the first event's personal data in which the person says something with it. */
  detail?: string;
  suspended?: Suspension;
  facts?: Facts;
  indexes?: (table: string) => string;
};

/** What else of a link's first event the read model has, each in a column of its own: nothing that tells in plain who it is. */
export type Facts = {
  readonly [column: string]: {
    type: 'text' | 'boolean';
    /** Goes with the person. */
    isPersonal?: true;
    of: (event: RecordedEvent) => string | boolean | null;
  };
};

/** What a `LinkTable` must know of what it counts. */
export type Counted = {
  /** The types of the events that change it. */
  readonly handles: readonly string[];
  /** What an event does to it: nothing where it is none of `handles`. */
  changes(event: RecordedEvent): LinkChange[];
  readonly atErasure: AtErasure;
  readonly isSuspendable: boolean;
  readonly facts?: Facts | undefined;
  /** SQL of indexes on the table beside those that every one has. */
  readonly indexes?: ((table: string) => string) | undefined;
};

/**
 * Events of another kind of streams by which links do not count for a while, each of some of one record: those of the `field` of
 * `begins`, until `ends` names them in the same stream.
 */
type Suspension = { begins: string; ends: string; field: string };

/**
 * A kind of link between records and persons: signatures, memberships, tags. Each link is a stream of its own, so that a
 * million of them under one record never wait for each other, and so that an erased person's is told from all others. That
 * it stands once at most, a unique key holds; whoever is linked again gets another stream.
 */
export class Link implements Counted {
  /** What both events name record and person by: `listId`, `contactId`. */
  readonly recordField: string;
  readonly subjectField: string;
  readonly decider: Decider<LinkState, DomainEvent>;

  constructor(
    readonly subject: Subject,
    private readonly declared: LinkDeclaration,
  ) {
    const { record, streamType, begins, ends } = declared;
    this.recordField = `${record}Id`;
    this.subjectField = `${subject.object}Id`;
    this.decider = {
      streamType,
      initial: { status: 'unknown' },
      events: { [begins]: true, [ends]: true },
      evolve: (_state, { type, data }) => ({
        status: type === begins ? 'standing' : 'ended',
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

  get atErasure(): AtErasure {
    return this.declared.atErasure;
  }

  /** The types of the events that change links. */
  get handles(): string[] {
    const { begins, ends, suspended } = this.declared;
    return [begins, ends, ...(suspended ? [suspended.begins, suspended.ends] : []), this.subject.erased];
  }

  /** What an event does to links: nothing where it is none of `handles`. */
  changes(event: RecordedEvent): LinkChange[] {
    const { begins, ends, detail, suspended } = this.declared;
    switch (event.type) {
      case begins: {
        const said = detail === undefined ? undefined : (event.personal?.[detail] as string | undefined);
        return [{ kind: 'begins', event, ...this.endsOf(event.data), detail: said ?? null }];
      }
      case ends:
        return [{ kind: 'ends', event, ...this.endsOf(event.data) }];
      case suspended?.begins:
        return [{ kind: 'suspended', event, ...this.suspendedBy(event) }];
      case suspended?.ends:
        return [{ kind: 'resumed', event, ...this.suspendedBy(event) }];
      case this.subject.erased:
        return [{ kind: 'erased', event }];
      default:
        return [];
    }
  }

  /** Of which one record and person have one at most. */
  keyOf(recordId: string, subjectId: string): string[] {
    return [this.declared.uniqueKey, recordId, subjectId];
  }

  /**
   * A new link, to be appended.
   *
   * @param taken what to do when they are linked already: see `Claim`.
   * @param personal what the person says with it.
   * @param more of `data`, beside record and person.
   */
  begin(
    recordId: string,
    subjectId: string,
    taken: Claim['taken'],
    personal: JsonObject | null = null,
    more: JsonObject = {},
  ): { linkId: string; write: StreamWrite; claim: Claim } {
    const linkId = newId();
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

  /** The end of a link that stands, and the key that it gives up. Standing it has its first event alone. */
  end(
    linkId: string,
    recordId: string,
    subjectId: string,
  ): { write: StreamWrite; release: Pick<Claim, 'value' | 'streamId'> } {
    const event = { type: this.declared.ends, data: this.dataOf(recordId, subjectId) };
    return {
      write: this.write(linkId, 1, event, subjectId),
      release: { value: this.keyOf(recordId, subjectId), streamId: linkId },
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
