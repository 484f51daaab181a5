import { type Sql } from '#libs/database';
import { type Decider, type DomainEvent, type RecordedEvent } from '#libs/event-store';

/** A column that lists are filtered or sorted by. */
type Column = { type: 'text' | 'integer' | 'timestamptz'; index?: boolean };

/** A row, with its columns besides. */
export type RecordRow<State> = {
  organization_id: string;
  id: string;
  created_at: Date;
  updated_at: Date;
  state: State;
  [column: string]: unknown;
};

/** What a row says, in the shape of a fold. */
export function recordOfRow<State>(row: RecordRow<State>): {
  state: State;
  createdAt: Date;
  updatedAt: Date;
} {
  return { state: row.state, createdAt: row.created_at, updatedAt: row.updated_at };
}

/**
 * A read model of whole records: one row per stream, holding the state that the decider's own `evolve`
 * makes of it, and columns to search by. For records that are changed by hand; what changes by the
 * thousand (signatures, members) deserves statements of its own.
 */
export class RecordTable<State, Event extends DomainEvent> {
  constructor(
    private readonly decider: Decider<State, Event>,
    private readonly table: string,
    private readonly columns: Record<string, Column>,
    /** The columns' values; undefined when the record is no more. */
    private readonly valuesOf: (state: State) => Record<string, string | number | null> | undefined,
    /** Columns that the projection keeps itself, as SQL; they need a default. */
    private readonly ownColumns: readonly string[] = [],
  ) {}

  /** The statements that create the table and an index for every way to sort and filter. */
  get definition(): string {
    const columns = Object.entries(this.columns);
    const indexed = [
      'created_at',
      'updated_at',
      ...columns.flatMap(([name, { index }]) => (index ? [name] : [])),
    ];
    return `
      CREATE TABLE ${this.table} (
        organization_id uuid           NOT NULL,
        id              uuid           NOT NULL,
        created_at      timestamptz(3) NOT NULL,
        updated_at      timestamptz(3) NOT NULL,
        state           jsonb          NOT NULL,
        ${[...columns.map(([name, { type }]) => `${name} ${type}`), ...this.ownColumns]
          .map((column) => `${column},`)
          .join('\n        ')}
        PRIMARY KEY (organization_id, id)
      );
      ${indexed
        .map(
          (name) => `CREATE INDEX ${this.table}_by_${name} ON ${this.table} (organization_id, ${name}, id);`,
        )
        .join('\n      ')}`;
  }

  /** Folds the events of its own streams into the rows: one read, one write, one delete, however many. */
  async apply(events: readonly RecordedEvent[], transaction: Sql): Promise<void> {
    const mine = events.filter(
      (event): event is RecordedEvent<Event> => event.streamType === this.decider.streamType,
    );
    if (mine.length === 0) return;
    const keys = new Map(mine.map(({ organizationId, streamId }) => [streamId, organizationId]));
    const found = await transaction.query<RecordRow<State>[]>(
      `SELECT r.organization_id, r.id, r.created_at, r.updated_at, r.state
       FROM ${this.table} r JOIN unnest($1::uuid[], $2::uuid[]) AS k(organization_id, id)
         ON r.organization_id = k.organization_id AND r.id = k.id`,
      [[...keys.values()], [...keys.keys()]],
    );
    const rows = new Map(found.map((row) => [row.id, row]));
    for (const event of mine) {
      const before = rows.get(event.streamId);
      rows.set(event.streamId, {
        organization_id: event.organizationId,
        id: event.streamId,
        created_at: before?.created_at ?? event.recordedAt,
        updated_at: event.recordedAt,
        state: this.decider.evolve(before?.state ?? this.decider.initial, event, event.recordedAt),
      });
    }

    const kept: object[] = [];
    const gone: RecordRow<State>[] = [];
    for (const row of rows.values()) {
      const values = this.valuesOf(row.state);
      if (values) kept.push({ ...row, ...values });
      else gone.push(row);
    }
    if (kept.length > 0) await transaction.query(this.upsert, [JSON.stringify(kept)]);
    if (gone.length > 0) {
      await transaction.query(
        `DELETE FROM ${this.table} r USING unnest($1::uuid[], $2::uuid[]) AS k(organization_id, id)
         WHERE r.organization_id = k.organization_id AND r.id = k.id`,
        [gone.map((row) => row.organization_id), gone.map((row) => row.id)],
      );
    }
  }

  private get upsert(): string {
    const own = ['created_at', 'updated_at', 'state', ...Object.keys(this.columns)];
    const names = ['organization_id', 'id', ...own].join(', ');
    const types = Object.entries(this.columns).map(([name, { type }]) => `, ${name} ${type}`);
    return `
      INSERT INTO ${this.table} (${names})
      SELECT ${names} FROM jsonb_to_recordset($1::jsonb) AS row(organization_id uuid, id uuid,
        created_at timestamptz, updated_at timestamptz, state jsonb${types.join('')})
      ON CONFLICT (organization_id, id) DO UPDATE
      SET ${own.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  }
}
