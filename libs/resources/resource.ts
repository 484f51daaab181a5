import { type Decider, type DomainEvent, type Folded, type RecordedEvent } from '#libs/event-store';
import { type Link, LinkTable } from '#libs/links';
import {
  type Column,
  type Erasure,
  type ListedTable,
  type Projection,
  type RecordRow,
  RecordTable,
  type Replayable,
  replayable,
  schemaOf,
} from '#libs/projections';
import { type FieldSchema, noSuch } from '#libs/rpc';

/** A record as the API answers it: the fields that its schema names, in that order. */
export type ResourceRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  organizationId: string;
  [field: string]: unknown;
};

/** All that is declared of a kind of records. */
export type ResourceDeclaration<State extends object, Event extends DomainEvent> = {
  /** The API's name of one: `list`; its id is then `listId`, its read model `lists`. */
  object: string;
  decider: Decider<State, Event>;
  /** The record's own fields; undefined where there is none, yet or any more. */
  standing(state: State): object | undefined;
  /** Schema of the record as it is answered. Fields that the state has not are null. */
  answers: FieldSchema;
  /** Of the read model: see `Projection`. */
  version: number;
  /** Of the read model: fields that are sorted (`index`), filtered or searched by. */
  columns: Record<string, Column>;
  /** A wide field that lists leave out unless they are asked for it. */
  apart?: string;
  /** Fields that name a record of another kind, by its id: what an event says there must stand. */
  refers?: Readonly<Record<string, Resource>>;
  /** Links that are counted on each record, exactly: the field with the number, and the table that holds them. */
  counts?: { link: Link; field: string; table: string };
  /** Of a read model that holds anything of persons: see `Projection`. */
  erasure?: Erasure;
};

/**
 * A kind of records, declared once: from what is said of it follow the read model, replay, and what `Resources` and
 * `ResourceCommands` do with it.
 */
export class Resource<State extends object = object, Event extends DomainEvent = DomainEvent> {
  readonly object: string;
  readonly decider: Decider<State, Event>;
  readonly idField: string;
  readonly projection: Projection;
  readonly replayable: Replayable;
  /** Qualified names. */
  readonly table: string;
  readonly linkTable: string | undefined;
  private readonly rows: Pick<RecordTable<State, Event>, 'page' | 'recordOf'>;
  private readonly fields: string[];
  private readonly sortColumns: NonNullable<ListedTable['sortColumns']>;
  private readonly links: LinkTable | undefined;

  constructor(private readonly declared: ResourceDeclaration<State, Event>) {
    const { object, decider, columns, apart, counts, version, erasure } = declared;
    const name = `${object}s`;
    this.object = object;
    this.decider = decider;
    this.idField = `${object}Id`;
    this.fields = Object.keys(declared.answers.properties!);
    const sortable = Object.entries(columns).filter(([, { index }]) => index);
    this.sortColumns = Object.fromEntries(
      sortable.map(([column, { type }]) => [column, { column, type: type as 'text' }]),
    );

    const ownColumns = counts ? [`${counts.field} integer NOT NULL DEFAULT 0`] : [];
    const valuesOf = (state: State) => {
      const fields = declared.standing(state);
      return fields && pick(fields, Object.keys(columns));
    };
    const rows = new RecordTable(decider, name, columns, valuesOf, {
      ownColumns,
      ...(apart ? { apart } : {}),
    });
    const links =
      counts &&
      new LinkTable(
        counts.table,
        { table: name, column: counts.field },
        counts.link.atErasure,
        counts.link.isSuspendable,
      );
    this.rows = rows;
    this.links = links;

    this.projection = {
      name,
      version,
      handles: [...Object.keys(decider.events), ...(counts?.link.handles ?? [])],
      tables: [rows.definition, links?.definition ?? ''].join('\n'),
      appliesBy: links ? [links.indexBySubject] : [],
      ...(erasure ? { erasure } : {}),
      async apply(events: readonly RecordedEvent[], transaction, seal) {
        await rows.apply(events, transaction);
        await links?.apply(
          events.flatMap((event) => counts!.link.changes(event)),
          transaction,
          seal,
        );
      },
      get snapshots() {
        return rows.snapshots(this);
      },
    };
    const schema = schemaOf(this.projection);
    this.table = `${schema}.${name}`;
    this.linkTable = counts && `${schema}.${counts.table}`;
    this.replayable = replayable(
      object,
      decider,
      (organizationId, id, folded, count) =>
        declared.standing(folded.state) && this.record(organizationId, id, folded, count),
      counts && { changes: (event) => counts.link.changes(event), atErasure: counts.link.atErasure },
    );
  }

  get link(): Link | undefined {
    return this.declared.counts?.link;
  }

  /** Ids of other records that these events name, by their kinds. */
  referred(events: readonly DomainEvent[]): { resource: Resource; id: string }[] {
    return Object.entries(this.declared.refers ?? {}).flatMap(([field, resource]) =>
      events.flatMap(({ data }) => (typeof data[field] === 'string' ? [{ resource, id: data[field] }] : [])),
    );
  }

  isStanding(state: State): boolean {
    return this.declared.standing(state) !== undefined;
  }

  /** @throws RpcError NOT_FOUND unless the record stands. */
  standing(state: State): object {
    const standing = this.declared.standing(state);
    if (!standing) throw noSuch(this.object);
    return standing;
  }

  /**
   * The record as the API answers it.
   *
   * @param count of its standing links.
   * @throws RpcError NOT_FOUND unless it stands.
   */
  record(
    organizationId: string,
    id: string,
    { state, createdAt, updatedAt }: Omit<Folded<State>, 'version'>,
    count = 0,
  ): ResourceRecord {
    const { counts, apart } = this.declared;
    const values: Record<string, unknown> = {
      ...this.standing(state),
      id,
      createdAt,
      updatedAt,
      organizationId,
    };
    if (counts) values[counts.field] = count;
    const record: Record<string, unknown> = {};
    for (const field of this.fields)
      record[field] = values[field] ?? (field === apart ? values[field] : null);
    return record as ResourceRecord;
  }

  /** Without the field kept apart unless the row was read with it. */
  recordOf(row: RecordRow<State>): ResourceRecord {
    const { counts } = this.declared;
    const count = counts ? (row[counts.field] as number) : 0;
    return this.record(row.organization_id, row.id, this.rows.recordOf(row), count);
  }

  /** For `findRows`. @param include the field kept apart, to have it read. */
  page(include?: string): ListedTable {
    return { table: this.table, ...this.rows.page(include), sortColumns: this.sortColumns };
  }

  /** See `LinkTable.countSince`. */
  countSince(id: string, position: number): number | undefined {
    return this.links?.countSince(id, position);
  }

  /** The field with the number of standing links, where they are counted. */
  get countField(): string | undefined {
    return this.declared.counts?.field;
  }
}

function pick(fields: object, names: readonly string[]): Record<string, string | number | null> {
  const all = fields as Record<string, string | number | null>;
  return Object.fromEntries(names.map((name) => [name, all[name] ?? null]));
}
