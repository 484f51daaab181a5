import { type Transaction } from '#libs/database';
import { type DomainEvent, type Json, type Keyring, type RecordedEvent, type Seal } from '#libs/event-store';

/** A projection: tables built only from the log, which can be dropped and rebuilt at any time. */
export type Projection<Event extends DomainEvent = DomainEvent> = {
  /** Kebab-case, unique in the product. */
  readonly name: string;
  /**
   * Raise it if the tables change, if events change them differently, or if the program can read another type or shape.
   * The new tables are built next to the old ones. So all instances that share tables read the same events, and may
   * skip what they cannot read.
   */
  readonly version: number;
  /** Statements that create the tables. Unqualified names, which end up in the projection's own schema. */
  readonly tables: string;
  /**
   * The indexes that `apply` needs, apart from keys. A rebuild creates all others after the rows. If omitted, it
   * creates all of them first.
   */
  readonly appliesBy?: readonly string[];
  /** For projections with personal data: how an erasure removes it. */
  readonly erasure?: Erasure<Event>;
  /** The event types that `apply` receives. */
  readonly handles: readonly Event['type'][];
  /**
   * Applies one page of events, in order, in the transaction that also moves the checkpoint. Must be set-based: a few
   * statements for thousands of events. Use unqualified table names. Seal fields that no one searches by.
   */
  apply(events: readonly RecordedEvent<Event>[], transaction: Transaction, seal: Seal): Promise<void>;
  /** For projections that contain whole records. */
  readonly snapshots?: Snapshots;
};

/** Records as a projection stores them. Commands load these instead of replaying streams from the beginning. */
export type Snapshots<State = unknown> = {
  /** The stream type of the decider. */
  readonly streamType: string;
  /**
   * One SELECT with the parameters $1 (organization) and $2 (uuid[], ids) and exactly the columns `id uuid`,
   * `version integer`, `created_at timestamptz`, `updated_at timestamptz`, `state text`. At most one row for each id, also
   * for deleted records. The row contains every event up to `version`, and `state` is any JSON. By primary key.
   *
   * If a row skipped an event that only a later version of this program knows, later events still update it, but its
   * version stays (`wholeVersion`). Loading the record then finds that event above the row's version, and ignores the row.
   */
  readonly sql: string;
  /** Returns exactly what the decider's `evolve` yields for the stream up to the row's version. */
  read(state: Json, keyring: Keyring): State;
};

/** The version of a row after an event: see `Snapshots`. @param before of the row, if it exists. */
export function wholeVersion(before: number | undefined = 0, event: Pick<RecordedEvent, 'version'>): number {
  return event.version === before + 1 ? event.version : before;
}

/** SQL: whether the stream has events that the row does not contain. Usually it has none. */
export function hasGoneOn(row: string): string {
  return `EXISTS (SELECT FROM public.events e WHERE e.organization_id = ${row}.organization_id
                  AND e.stream_id = ${row}.id AND e.version > ${row}.version)`;
}

export type Erasure<Event extends DomainEvent = DomainEvent> = {
  /** The event that erases the person to whom the stream belongs. */
  readonly event: Event['type'];
  /**
   * Whether the tables contain unsealed personal data. PostgreSQL leaves deleted rows in its files, so these are
   * rewritten after an erasure.
   */
  readonly inPlain: boolean;
  /**
   * What an erasure does to the tables of earlier versions while they exist: SQL by version, for arrays of
   * organizations ($1) and people ($2), with unqualified table names. It may run before or after an instance of that
   * version applies the same event, so it must not change what that instance counts.
   */
  readonly earlier: { readonly [version: number]: string };
};

/** The PostgreSQL schema that contains a projection's tables: `contacts_v1`. */
export function schemaOf(projection: Pick<Projection, 'name' | 'version'>): string {
  return `${projection.name.replaceAll('-', '_')}_v${projection.version}`;
}
