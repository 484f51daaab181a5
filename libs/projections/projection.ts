import { type Transaction } from '#libs/database';
import { type DomainEvent, type Json, type Keyring, type RecordedEvent, type Seal } from '#libs/event-store';

/** A read model: tables that follow from the log alone and can be thrown away and built again. */
export type Projection<Event extends DomainEvent = DomainEvent> = {
  /** Kebab-case, unique in the product. */
  readonly name: string;
  /**
   * To be raised whenever the tables or what events do to them change, and whenever the program learns to read another
   * type or shape of them: the new ones are built beside. So whoever shares tables reads the same, and may go on past what
   * it cannot read.
   */
  readonly version: number;
  /** Statements that create the tables; unqualified names, they land in the projection's own schema. */
  readonly tables: string;
  /**
   * The indexes that `apply` goes by, beside keys. A rebuild makes all others when the rows are there; left out, none.
   */
  readonly appliesBy?: readonly string[];
  /** Of read models that hold anything of persons: how an erasure takes it away. */
  readonly erasure?: Erasure<Event>;
  /** The event types that `apply` wants to see. */
  readonly handles: readonly Event['type'][];
  /**
   * Applies one page of events, in order, in the transaction that also moves the checkpoint. Set-based:
   * a few statements for a page of thousands. Table names unqualified. What need not be searched by is sealed.
   */
  apply(events: readonly RecordedEvent<Event>[], transaction: Transaction, seal: Seal): Promise<void>;
  /** Of read models that hold whole records. */
  readonly snapshots?: Snapshots;
};

/** Records as a read model holds them: what a command loads in place of their streams from the beginning. */
export type Snapshots<State = unknown> = {
  /** The decider's. */
  readonly streamType: string;
  /**
   * One SELECT with the parameters $1 (organization) and $2 (uuid[], ids) and exactly the columns `id uuid`,
   * `version integer`, `created_at timestamptz`, `updated_at timestamptz`, `state text`: at most one row for each id, also for
   * records that are no more. `version` is that up to which the row has taken in every event, `state` any JSON. By the
   * primary key.
   *
   * A row that was not given an event, because only a later version of this program knows it, goes on with those after
   * it, but its version does not (`wholeVersion`): who loads it finds that event behind it, and leaves the row.
   */
  readonly sql: string;
  /** Exactly what the decider's `evolve` makes of the stream up to the row's version. */
  read(state: Json, keyring: Keyring): State;
};

/** The version of a row that takes in an event: see `Snapshots`. @param before of the row, if there is one. */
export function wholeVersion(before: number | undefined = 0, event: Pick<RecordedEvent, 'version'>): number {
  return event.version === before + 1 ? event.version : before;
}

/** SQL: whether the stream of a row has events that the row has not taken in; mostly it has not. */
export function hasGoneOn(row: string): string {
  return `EXISTS (SELECT FROM public.events e WHERE e.organization_id = ${row}.organization_id
                  AND e.stream_id = ${row}.id AND e.version > ${row}.version)`;
}

export type Erasure<Event extends DomainEvent = DomainEvent> = {
  /** The event that erases the person whose stream it is of. */
  readonly event: Event['type'];
  /**
   * Whether the tables hold anything of persons that is not sealed. PostgreSQL leaves what was deleted in its files,
   * so these are written anew after an erasure.
   */
  readonly inPlain: boolean;
  /**
   * What an erasure does to the tables of earlier versions for as long as these stand: SQL by version, for arrays of
   * organizations ($1) and persons ($2), with unqualified table names. It may run before or after an instance of
   * that version applies the same event, so it must leave alone what that one counts.
   */
  readonly earlier: { readonly [version: number]: string };
};

/** The PostgreSQL schema that holds a projection's tables: `contacts_v1`. */
export function schemaOf(projection: Pick<Projection, 'name' | 'version'>): string {
  return `${projection.name.replaceAll('-', '_')}_v${projection.version}`;
}
