import { type Decider, type DomainEvent, type Folded, type RecordedEvent } from '#libs/event-store';
import { type Counted, type Link, LinkTable } from '#libs/links';
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
  /** False for a record in whose place the same create makes another. Default: none is. */
  isRepeated?(state: State): boolean;
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
  /** What else is counted on each, in the same way. */
  alsoCounts?: { link: Counted; field: string; table: string };
  /** Whether its state is `Slugged`: a page shows it. */
  hasSlug?: boolean;
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
  readonly otherLinkTable: string | undefined;
  private readonly rows: Pick<RecordTable<State, Event>, 'page' | 'recordOf'>;
  private readonly fields: string[];
  private readonly sortColumns: NonNullable<ListedTable['sortColumns']>;
  private readonly links: LinkTable | undefined;
  private readonly counted: readonly { link: Counted; field: string; table: string }[];

  constructor(private readonly declared: ResourceDeclaration<State, Event>) {
    const { object, decider, columns, apart, counts, alsoCounts, version, erasure } = declared;
    const name = `${object}s`;
    this.object = object;
    this.decider = decider;
    this.idField = `${object}Id`;
    this.fields = Object.keys(declared.answers.properties!);
    const sortable = Object.entries(columns).filter(([, { index }]) => index);
    this.sortColumns = Object.fromEntries(
      sortable.map(([column, { type }]) => [column, { column, type: type as 'text' }]),
    );

    const counted = [counts, alsoCounts].filter((one) => one !== undefined);
    const ownColumns = counted.map(({ field }) => `${columnOf(field)} integer NOT NULL DEFAULT 0`);
    const valuesOf = (state: State) => {
      const fields = declared.standing(state);
      return fields && pick(fields, Object.keys(columns));
    };
    const rows = new RecordTable(decider, name, columns, valuesOf, {
      ownColumns,
      ...(apart ? { apart } : {}),
    });
    const tables = counted.map(
      ({ link, field, table }) => new LinkTable(table, { table: name, column: columnOf(field) }, link),
    );
    this.rows = rows;
    this.links = tables[0];
    this.counted = counted;

    this.projection = {
      name,
      version,
      handles: [...new Set([...Object.keys(decider.events), ...counted.flatMap(({ link }) => link.handles)])],
      tables: [rows.definition, ...tables.map(({ definition }) => definition)].join('\n'),
      appliesBy: tables.map(({ indexBySubject }) => indexBySubject),
      ...(erasure ? { erasure } : {}),
      async apply(events: readonly RecordedEvent[], transaction, seal) {
        await rows.apply(events, transaction);
        for (const [n, table] of tables.entries()) {
          await table.apply(
            events.flatMap((event) => counted[n]!.link.changes(event)),
            transaction,
            seal,
          );
        }
      },
      get snapshots() {
        return rows.snapshots(this);
      },
    };
    const schema = schemaOf(this.projection);
    this.table = `${schema}.${name}`;
    this.linkTable = counts && `${schema}.${counts.table}`;
    this.otherLinkTable = alsoCounts && `${schema}.${alsoCounts.table}`;
    this.replayable = replayable(
      object,
      decider,
      (organizationId, id, folded, counts) =>
        declared.standing(folded.state) && this.record(organizationId, id, folded, counts),
      counted.map(({ link }) => ({ changes: (event) => link.changes(event), atErasure: link.atErasure })),
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

  exists(state: State): boolean {
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
   * @param counts of its standing links, in the order in which they are declared.
   * @throws RpcError NOT_FOUND unless it stands.
   */
  record(
    organizationId: string,
    id: string,
    { state, createdAt, updatedAt }: Omit<Folded<State>, 'version'>,
    counts: readonly number[] = [],
  ): ResourceRecord {
    const { apart } = this.declared;
    const values: Record<string, unknown> = {
      ...this.standing(state),
      id,
      createdAt,
      updatedAt,
      organizationId,
    };
    for (const [n, { field }] of this.counted.entries()) values[field] = counts[n] ?? 0;
    const record: Record<string, unknown> = {};
    for (const field of this.fields)
      record[field] = values[field] ?? (field === apart ? values[field] : null);
    return record as ResourceRecord;
  }

  /** Without the field kept apart unless the row was read with it. */
  recordOf(row: RecordRow<State>): ResourceRecord {
    const counts = this.counted.map(({ field }) => row[columnOf(field)] as number);
    return this.record(row.organization_id, row.id, this.rows.recordOf(row), counts);
  }

  /** For `findRows`. @param include the field kept apart, to have it read. */
  page(include?: string): ListedTable {
    return { table: this.table, ...this.rows.page(include), sortColumns: this.sortColumns };
  }

  /** See `LinkTable.countSince`. */
  countSince(id: string, position: number): number | undefined {
    return this.links?.countSince(id, position);
  }

  /** Columns with the numbers of standing links, in the order in which they are declared. */
  get countColumns(): string[] {
    return this.counted.map(({ field }) => columnOf(field));
  }

  /** What is counted, with the qualified tables that hold it. */
  get countedLinks(): { table: string; isSuspendable: boolean }[] {
    const tables = [this.linkTable, this.otherLinkTable].filter((table) => table !== undefined);
    return this.counted.map(({ link }, n) => ({ table: tables[n]!, isSuspendable: link.isSuspendable }));
  }

  isRepeated(state: State): boolean {
    return this.declared.isRepeated?.(state) ?? true;
  }

  get hasSlug(): boolean {
    return this.declared.hasSlug === true;
  }

  /** Of which one record of the organization has one at most. */
  keyOfSlug(slug: string): string[] {
    return [`${this.object}.slug`, slug];
  }
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function pick(fields: object, names: readonly string[]): Record<string, string | number | null> {
  const all = fields as Record<string, string | number | null>;
  return Object.fromEntries(names.map((name) => [name, all[name] ?? null]));
}
