import { searchIndexes, type Transaction } from '#libs/database';
import {
  begunBy,
  type Decider,
  type DomainEvent,
  type Folded,
  isKnown,
  type RecordedEvent,
} from '#libs/event-store';
import { type Projection, schemaOf, type Snapshots, wholeVersion } from './projection.js';

/** A column that lists are filtered or sorted by (`index`), or searched by (`search`). */
export type Column = { type: 'text' | 'integer' | 'timestamptz' | 'uuid'; index?: boolean; search?: boolean };

/** A row, including the columns of the table. */
export type RecordRow<State> = {
  organization_id: string;
  id: string;
  created_at: Date;
  updated_at: Date;
  /** See `Snapshots`. */
  version: number;
  /** Without the field that is stored apart. */
  state: State;
  [column: string]: unknown;
};

/**
 * The number of events folded together. A page may have thousands, each with 256 KiB of content. That would be too much
 * memory, and PostgreSQL accepts no JSON array above 256 MiB.
 */
const SLICE = 200;

/** The placeholder in a state for the field that is stored apart and was not read. `evolve` keeps it or sets a new value. */
const UNREAD = Object.freeze({ unread: true });

type Options = {
  /** SQL definitions of columns that the projection itself maintains. They need a default. */
  ownColumns?: readonly string[];
  /**
   * A large field of the state that lists omit. It has its own column (JSON text), which is neither read nor written if an
   * event does not change it. `evolve` may set the field, but not read it.
   */
  apart?: string;
};

/**
 * A projection of whole records. Each stream has one row, with the state that the decider's own `evolve` returns and
 * columns to search by. Use it for records that people edit. Records that change by the thousand (signatures, members)
 * deserve their own statements.
 *
 * A second table contains deleted records, so that their streams need not be read to find out that they are deleted.
 */
export class RecordTable<State extends object, Event extends DomainEvent> {
  private readonly ownColumns: readonly string[];
  private readonly apart: string | undefined;

  constructor(
    private readonly decider: Decider<State, Event>,
    private readonly table: string,
    private readonly columns: Record<string, Column>,
    /** The columns' values; undefined if the record is deleted. */
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
        -- The size of the state's text, stored because computing it for each read would be slow.
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
      CREATE TABLE ${this.deletedTable} (${common}
        PRIMARY KEY (organization_id, id)
      );`;
  }

  /** @param projection the projection that contains the tables. */
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
        UNION ALL ${columns('state::text')} FROM ${schema}.${this.deletedTable} ${where}`,
      read: (state) => state as State,
    };
  }

  /** For `findRows`: the columns and sizes of rows. @param include the name of the field stored apart, to include it. */
  page(include?: string): { columns: string; bytes: string } {
    const wide = include === this.apart ? this.apart : undefined;
    const own = this.ownColumns.map((column) => column.split(' ')[0]!);
    const names = [...Object.keys(ROW_TYPES), ...Object.keys(this.columns), ...own];
    return {
      columns: [...names, ...(wide ? [wide] : [])].join(', '),
      bytes: wide ? `bytes + coalesce(octet_length(${wide}), 0)` : 'bytes',
    };
  }

  /** Converts a row to a folded record. The field stored apart is included if its column was read. */
  recordOf(row: RecordRow<State>): Folded<State> {
    const wide = this.apart && row[this.apart];
    const state =
      typeof wide === 'string' ? { ...row.state, [this.apart!]: JSON.parse(wide) as unknown } : row.state;
    return { state, version: row.version, createdAt: row.created_at, updatedAt: row.updated_at };
  }

  /** The types of events that change the rows. */
  get handles(): string[] {
    const { builtIn, events } = this.decider;
    return [...Object.keys(events), ...(builtIn ? [builtIn.begins.type] : [])];
  }

  /** Folds the events into the rows, with a few statements per `SLICE`. */
  async apply(events: readonly RecordedEvent[], transaction: Transaction): Promise<void> {
    const mine = events.filter(
      (event) => event.streamType === this.decider.streamType || begunBy(this.decider, event),
    );
    for (let n = 0; n < mine.length; n += SLICE) await this.applySlice(mine.slice(n, n + SLICE), transaction);
  }

  private async applySlice(events: readonly RecordedEvent[], transaction: Transaction): Promise<void> {
    const idOf = (event: RecordedEvent) => begunBy(this.decider, event)?.id ?? event.streamId;
    const keys = new Map(events.map((event) => [idOf(event), event.organizationId]));
    const columns = 'r.organization_id, r.id, r.created_at, r.updated_at, r.version, r.state';
    const join = `JOIN unnest($1::uuid[], $2::uuid[]) AS k(organization_id, id)
         ON r.organization_id = k.organization_id AND r.id = k.id`;
    const found = await transaction.query<(RecordRow<State> & { exists: boolean })[]>(
      `SELECT ${columns}, true AS exists FROM ${this.table} r ${join}
       UNION ALL SELECT ${columns}, false FROM ${this.deletedTable} r ${join}`,
      [[...keys.values()], [...keys.keys()]],
    );
    const rows = new Map<string, RecordRow<State>>();
    for (const { exists, ...row } of found) {
      if (this.apart && exists) row.state = { ...row.state, [this.apart]: UNREAD };
      rows.set(row.id, row);
    }
    for (const event of events) {
      const begun = begunBy(this.decider, event);
      if (begun) {
        const { id, state, version } = begun;
        const times = { created_at: event.recordedAt, updated_at: event.recordedAt };
        rows.set(id, { organization_id: event.organizationId, id, ...times, version, state });
      }
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
    const deleted: RecordRow<State>[] = [];
    for (const row of rows.values()) {
      const values = this.valuesOf(row.state);
      if (values) kept.push({ ...row, ...this.split(row.state), ...values });
      else deleted.push(row);
    }
    if (kept.length > 0) void transaction.send(this.upsert, [JSON.stringify(kept)]);
    if (deleted.length > 0) void transaction.send(this.moveToDeleted, [JSON.stringify(deleted)]);
  }

  /** The state without the field stored apart, and that field's text, which is null if the field did not change. */
  private split(state: State): object {
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

  private get moveToDeleted(): string {
    const names = Object.keys(ROW_TYPES);
    return `
      WITH ended AS (
        INSERT INTO ${this.deletedTable} (${names.join(', ')})
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

  private get deletedTable(): string {
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
