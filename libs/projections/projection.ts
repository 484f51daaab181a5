import { type Sql } from '#libs/database';
import { type DomainEvent, type Json, type Keyring, type RecordedEvent } from '#libs/event-store';

/** A read model: tables that follow from the log alone and can be thrown away and built again. */
export type Projection<Event extends DomainEvent = DomainEvent> = {
  /** Kebab-case, unique in the product. */
  readonly name: string;
  /** To be raised whenever the tables or what events do to them change: the new ones are built beside. */
  readonly version: number;
  /** Statements that create the tables; unqualified names, they land in the projection's own schema. */
  readonly tables: string;
  /** The event types that `apply` wants to see. */
  readonly handles: readonly Event['type'][];
  /**
   * Applies one page of events, in order, in the transaction that also moves the checkpoint. Set-based:
   * a few statements for a page of thousands. Table names unqualified.
   */
  apply(events: readonly RecordedEvent<Event>[], transaction: Sql): Promise<void>;
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
   * records that are no more. `version` is that of the last event taken in, `state` any JSON. By the primary key.
   */
  readonly sql: string;
  /** Exactly what the decider's `evolve` makes of the stream up to the row's version. */
  read(state: Json, keyring: Keyring): State;
};

/** The PostgreSQL schema that holds a projection's tables: `contacts_v1`. */
export function schemaOf(projection: Pick<Projection, 'name' | 'version'>): string {
  return `${projection.name.replaceAll('-', '_')}_v${projection.version}`;
}
