import { searchIndexes, type Transaction } from '#libs/database';
import { type Decider, type DomainEvent, isKnown, type RecordedEvent } from '#libs/event-store';
import { type Projection, schemaOf, type Snapshots, wholeVersion } from './projection.js';

/** A column that lists are filtered or sorted by (`index`), or searched by (`search`). */
export type Column = { type: 'text' | 'integer' | 'timestamptz' | 'uuid'; index?: boolean; search?: boolean };

/** A row, with its columns besides. */
export type RecordRow<State> = {
  organization_id: string;
  id: string;
  created_at: Date;
  updated_at: Date;
  /** See `Snapshots`. */
  version: number;
  /** Without the field that is kept apart. */
  state: State;
  [column: string]: unknown;
};

/**
 * Events that are folded at once. A page may have thousands, each with 256 KiB of content: PostgreSQL takes no JSON
 * array above 256 MiB, and nobody should hold that much.
 */
const SLICE = 200;

/** Stands in a state for the field that is kept apart and was not read: `evolve` passes it on, or sets another. */
const UNREAD = Object.freeze({ unread: true });

type Options = {
  /** Columns that the projection keeps itself, as SQL; they need a default. */
  ownColumns?: readonly string[];
  /**
   * A field of the state that is wide and that lists leave out: it has a column of its own (JSON text), which is
   * neither read nor written where an event leaves it as it is. `evolve` may set it, not look at it.
   */
  apart?: string;
};

/**
 * A read model of whole records: one row per stream, holding the state that the decider's own `evolve`
 * makes of it, and columns to search by. For records that are changed by hand; what changes by the
 * thousand (signatures, members) deserves statements of its own.
 *
 * Beside it a table of the records that are no more, so that nobody need read their streams to learn that.
 */
export class RecordTable<State extends object, Event extends DomainEvent> {
  private readonly ownColumns: readonly string[];
  private readonly apart: string | undefined;

  constructor(
    private readonly decider: Decider<State, Event>,
    private readonly table: string,
    private readonly columns: Record<string, Column>,
    /** The columns' values; undefined when the record is no more. */
    private readonly valuesOf: (state: State) => Record<string, string | number | null> | undefined,
    { ownColumns = [], apart }: Options = {},
  ) {
    this.ownColumns = ownColumns;
    this.apart = apart;
    const folded = Object.keys(columns).find((column) => column !== column.toLowerCase());
    if (folded !== undefined) {
      throw new Error(
        `Rename the column ${folded} of ${table} to lower case: PostgreSQL folds names, so ${folded} would stay empty.`,
      );
    }
  }

  /** The statements that create the tables and an index for every way to sort and filter. */
  get definition(): string {
    const columns = Object.entries(this.columns);
    const indexed = [
      'created_at',
      'updated_at',
      ...columns.flatMap(([name, { index }]) => (index ? [name] : [])),
    ];
    const searched = columns.flatMap(([name, { search }]) => (search ? [name] : []));
    const common = `
        organization_id uuid           NOT NULL,
        id              uuid           NOT NULL,
        created_at      timestamptz(3) NOT NULL,
        updated_at      timestamptz(3) NOT NULL,
        version         integer        NOT NULL,
        state           jsonb          NOT NULL,`;
    return `
      CREATE TABLE ${this.table} (${common}
        -- Of the state as PostgreSQL writes it; reading it costs nothing, counting it anew would.
        bytes           integer        NOT NULL,
        ${[
          ...columns.map(([name, { type }]) => `${name} ${type}`),
          ...(this.apart ? [`${this.apart} text`] : []),
          ...this.ownColumns,
        ]
          .map((column) => `${column},`)
          .join('\n        ')}
        PRIMARY KEY (organization_id, id)
      );
      ${indexed
        .map(
          (name) => `CREATE INDEX ${this.table}_by_${name} ON ${this.table} (organization_id, ${name}, id);`,
        )
        .join('\n      ')}
      ${searched.length > 0 ? searchIndexes(this.table, searched) : ''}
      CREATE TABLE ${this.gone} (${common}
        PRIMARY KEY (organization_id, id)
      );`;
  }

  /** @param projection the one that the tables are of. */
  snapshots(projection: Pick<Projection, 'name' | 'version'>): Snapshots<State> {
    const { apart } = this;
    const schema = schemaOf(projection);
    const whole = `left(state::text, -1) || ', "${apart}": ' || ${apart} || '}'`;
    const columns = (state: string) => `SELECT id, version, created_at, updated_at, ${state} AS state`;
    const where = 'WHERE organization_id = $1 AND id = ANY ($2::uuid[])';
    return {
      streamType: this.decider.streamType,
      sql: `
        ${columns(apart ? `coalesce(${whole}, state::text)` : 'state::text')} FROM ${schema}.${this.table} ${where}
        UNION ALL ${columns('state::text')} FROM ${schema}.${this.gone} ${where}`,
      read: (state) => state as State,
    };
  }

  /** For `findRows`: columns and bytes of rows with or without the field kept apart. */
  page(include?: string): { columns: string; bytes: string } {
    const wide = include === this.apart ? this.apart : undefined;
    const own = this.ownColumns.map((column) => column.split(' ')[0]!);
    const names = [...Object.keys(ROW_TYPES), ...Object.keys(this.columns), ...own];
    return {
      columns: [...names, ...(wide ? [wide] : [])].join(', '),
      bytes: wide ? `bytes + coalesce(octet_length(${wide}), 0)` : 'bytes',
    };
  }

  /** What a row says, in the shape of a fold; without the field kept apart unless its column was read. */
  recordOf(row: RecordRow<State>): { state: State; createdAt: Date; updatedAt: Date } {
    const wide = this.apart && row[this.apart];
    const state =
      typeof wide === 'string' ? { ...row.state, [this.apart!]: JSON.parse(wide) as unknown } : row.state;
    return { state, createdAt: row.created_at, updatedAt: row.updated_at };
  }

  /** Folds the events of its own streams into the rows: a few statements for `SLICE` of them. */
  async apply(events: readonly RecordedEvent[], transaction: Transaction): Promise<void> {
    const mine = events.filter(
      (event): event is RecordedEvent<Event> => event.streamType === this.decider.streamType,
    );
    for (let n = 0; n < mine.length; n += SLICE) await this.applySlice(mine.slice(n, n + SLICE), transaction);
  }

  private async applySlice(events: readonly RecordedEvent<Event>[], transaction: Transaction): Promise<void> {
    const keys = new Map(events.map(({ organizationId, streamId }) => [streamId, organizationId]));
    const columns = 'r.organization_id, r.id, r.created_at, r.updated_at, r.version, r.state';
    const join = `JOIN unnest($1::uuid[], $2::uuid[]) AS k(organization_id, id)
         ON r.organization_id = k.organization_id AND r.id = k.id`;
    const found = await transaction.query<(RecordRow<State> & { stands: boolean })[]>(
      `SELECT ${columns}, true AS stands FROM ${this.table} r ${join}
       UNION ALL SELECT ${columns}, false FROM ${this.gone} r ${join}`,
      [[...keys.values()], [...keys.keys()]],
    );
    const rows = new Map<string, RecordRow<State>>();
    for (const { stands, ...row } of found) {
      if (this.apart && stands) row.state = { ...row.state, [this.apart]: UNREAD };
      rows.set(row.id, row);
    }
    for (const event of events) {
      if (!isKnown(this.decider, event)) continue;
      const before = rows.get(event.streamId);
      rows.set(event.streamId, {
        organization_id: event.organizationId,
        id: event.streamId,
        created_at: before?.created_at ?? event.recordedAt,
        updated_at: event.recordedAt,
        version: wholeVersion(before?.version, event),
        state: this.decider.evolve(before?.state ?? this.decider.initial, event, event.recordedAt),
      });
    }

    const kept: object[] = [];
    const gone: RecordRow<State>[] = [];
    for (const row of rows.values()) {
      const values = this.valuesOf(row.state);
      if (values) kept.push({ ...row, ...this.parted(row.state), ...values });
      else gone.push(row);
    }
    if (kept.length > 0) void transaction.send(this.upsert, [JSON.stringify(kept)]);
    if (gone.length > 0) void transaction.send(this.bury, [JSON.stringify(gone)]);
  }

  /** The state without the field kept apart, and that field's text: none where it stays as it is. */
  private parted(state: State): object {
    if (!this.apart || !(this.apart in state)) return { state };
    const { [this.apart]: wide, ...rest } = state as { [field: string]: unknown };
    return { state: rest, [this.apart]: wide === UNREAD ? null : JSON.stringify(wide) };
  }

  private get upsert(): string {
    const types = {
      ...ROW_TYPES,
      ...Object.fromEntries(Object.entries(this.columns).map(([name, { type }]) => [name, type])),
      ...(this.apart ? { [this.apart]: 'text' } : {}),
    };
    const names = Object.keys(types);
    const set = [...names.slice(2), 'bytes'].map((name) =>
      name === this.apart
        ? `${name} = coalesce(excluded.${name}, ${this.table}.${name})`
        : `${name} = excluded.${name}`,
    );
    return `
      INSERT INTO ${this.table} (${names.join(', ')}, bytes)
      SELECT ${names.join(', ')}, octet_length(state::text)
      FROM jsonb_to_recordset($1::jsonb) AS row(${typed(types)})
      ON CONFLICT (organization_id, id) DO UPDATE SET ${set.join(', ')}`;
  }

  private get bury(): string {
    const names = Object.keys(ROW_TYPES);
    return `
      WITH ended AS (
        INSERT INTO ${this.gone} (${names.join(', ')})
        SELECT ${names.join(', ')} FROM jsonb_to_recordset($1::jsonb) AS row(${typed(ROW_TYPES)})
        ON CONFLICT (organization_id, id) DO UPDATE
        SET ${names
          .slice(2)
          .map((name) => `${name} = excluded.${name}`)
          .join(', ')}
        RETURNING organization_id, id
      )
      DELETE FROM ${this.table} r USING ended
      WHERE r.organization_id = ended.organization_id AND r.id = ended.id`;
  }

  private get gone(): string {
    return `${this.table}_gone`;
  }
}

/** The key first. */
const ROW_TYPES = {
  organization_id: 'uuid',
  id: 'uuid',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  version: 'integer',
  state: 'jsonb',
};

function typed(types: Record<string, string>): string {
  return Object.entries(types)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ');
}
