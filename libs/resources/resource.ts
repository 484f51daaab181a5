import {
  type Decider,
  type DomainEvent,
  type Folded,
  type Json,
  type RecordedEvent,
} from '#libs/event-store';
import { type Counted, Link, LinkTable } from '#libs/links';
import {
  type Column,
  type Erasure,
  type ListedTable,
  type Projection,
  type RecordRow,
  RecordTable,
  type Replayable,
  type StreamBeside,
  replayable,
  schemaOf,
} from '#libs/projections';
import { type FieldSchema, idFieldOf, noSuch } from '#libs/rpc';

/** A record in the API's format: the fields of its schema, in that order. */
export type ResourceRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  organizationId: string;
  [field: string]: unknown;
};

/** The declaration of a kind of records. */
export type ResourceDeclaration<State extends object, Event extends DomainEvent> = {
  /** The name of one record in the API: `list`. Its id is then `listId`, and its projection `lists`. */
  object: string;
  decider: Decider<State, Event>;
  /** The record's own fields; undefined if it does not exist yet or is deleted. */
  existing(state: State): object | undefined;
  /** Returns false for a record that the same create does not return, but creates again. Default: true. */
  isRepeated?(state: State): boolean;
  /** The schema of the record in responses. Fields missing from the state are null. */
  answers: FieldSchema;
  /** The version of the projection: see `Projection`. */
  version: number;
  /** Columns of the projection, for fields to sort (`index`), filter or search by. */
  columns: Record<string, Column>;
  /** A large field that lists omit unless it is requested. */
  apart?: string;
  /**
   * Fields that contain the id of a record of another kind, a list of them, or objects with such ids. These records must exist when an event sets
   * the field.
   */
  refers?: Readonly<Record<string, Resource>>;
  /** Links that are counted exactly for each record: the field with the number, and the table of the links. */
  counts?: { link: Counted; field: string; table: string };
  /** A second kind of counted links. */
  alsoCounts?: { link: Counted; field: string; table: string };
  /** Whether the state is `Slugged`, for records with a public page. */
  hasSlug?: boolean;
  beside?: StreamBeside;
  /** SQL of indexes in addition to those of the columns. */
  indexes?: string;
  /** For projections with personal data: see `Projection`. */
  erasure?: Erasure;
};

/**
 * A kind of records, declared once. The projection, the replay, and the methods of `Resources` and `ResourceCommands` are
 * derived from the declaration.
 */
export class Resource<State extends object = object, Event extends DomainEvent = DomainEvent> {
  readonly object: string;
  readonly decider: Decider<State, Event>;
  readonly idField: string;
  /** The column that contains what people call a record. */
  readonly nameColumn: 'name' | 'title';
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
    const { object, decider, columns, apart, counts, alsoCounts, version, indexes, erasure } = declared;
    const name = `${object.replaceAll('-', '_')}s`;
    this.object = object;
    this.decider = decider;
    this.idField = idFieldOf(object);
    this.nameColumn = 'title' in columns ? 'title' : 'name';
    this.fields = Object.keys(declared.answers.properties!);
    const sortable = Object.entries(columns).filter(([, { index }]) => index);
    this.sortColumns = Object.fromEntries(
      sortable.map(([column, { type }]) => [column, { column, type: type as 'text' }]),
    );

    const counted = [counts, alsoCounts].filter((one) => one !== undefined);
    const ownColumns = counted.map(({ field }) => `${columnOf(field)} integer NOT NULL DEFAULT 0`);
    const valuesOf = (state: State) => {
      const fields = declared.existing(state);
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
      name: `${object}s`,
      version,
      handles: [...new Set([...rows.handles, ...counted.flatMap(({ link }) => link.handles)])],
      tables: [
        rows.definition,
        ...tables.map(({ definition }) => definition),
        ...(indexes ? [indexes] : []),
      ].join('\n'),
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
        declared.existing(folded.state) && this.record(organizationId, id, folded, counts),
      counted.map(({ link }) => link),
      declared.beside,
    );
  }

  get beside(): StreamBeside | undefined {
    return this.declared.beside;
  }

  get link(): Link | undefined {
    const link = this.declared.counts?.link;
    return link instanceof Link ? link : undefined;
  }

  /** The records of other kinds to which these events refer. */
  referred(events: readonly DomainEvent[]): { resource: Resource; id: string }[] {
    return Object.entries(this.declared.refers ?? {}).flatMap(([field, resource]) =>
      events.flatMap(({ data: { [field]: value } }) =>
        [value]
          .flat()
          .flatMap((one) => (typeof one === 'string' ? [one] : valuesIn(one, resource.idField)))
          .map((id) => ({ resource, id })),
      ),
    );
  }

  exists(state: State): boolean {
    return this.declared.existing(state) !== undefined;
  }

  /** The record's own fields. @throws RpcError NOT_FOUND if the record does not exist. */
  existing(state: State): object {
    const fields = this.declared.existing(state);
    if (!fields) throw noSuch(this.object);
    return fields;
  }

  /**
   * The record in the API's format.
   *
   * @param counts the numbers of its active links, in the order of their declaration.
   * @throws RpcError NOT_FOUND if the record does not exist.
   */
  record(
    organizationId: string,
    id: string,
    { state, version, createdAt, updatedAt }: Folded<State>,
    counts: readonly number[] = [],
  ): ResourceRecord {
    const { apart } = this.declared;
    const values: Record<string, unknown> = {
      ...this.existing(state),
      id,
      createdAt,
      updatedAt,
      version,
      organizationId,
    };
    for (const [n, { field }] of this.counted.entries()) values[field] = counts[n] ?? 0;
    const record: Record<string, unknown> = {};
    for (const field of this.fields)
      record[field] = values[field] ?? (field === apart ? values[field] : null);
    return record as ResourceRecord;
  }

  /** Converts a row to the API's format. The field stored apart is included if the row contains it. */
  recordOf(row: RecordRow<State>): ResourceRecord {
    const counts = this.counted.map(({ field }) => row[columnOf(field)] as number);
    return this.record(row.organization_id, row.id, this.rows.recordOf(row), counts);
  }

  /** For `findRows`. @param include the name of the field stored apart, to read it. */
  page(include?: string): ListedTable {
    return { table: this.table, ...this.rows.page(include), sortColumns: this.sortColumns };
  }

  /** See `LinkTable.countSince`. */
  countSince(id: string, position: number): number | undefined {
    return this.links?.countSince(id, position);
  }

  /** The columns with the numbers of active links, in the order of their declaration. */
  get countColumns(): string[] {
    return this.counted.map(({ field }) => columnOf(field));
  }

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

  /** The unique value for a slug, which only one record of the organization can have. */
  keyOfSlug(slug: string): string[] {
    return [`${this.object}.slug`, slug];
  }
}

/** The texts of a field in objects, at any depth. */
function valuesIn(within: Json | undefined, field: string): string[] {
  if (typeof within !== 'object' || within === null) return [];
  return Object.entries(within).flatMap(([name, value]) =>
    name === field && typeof value === 'string' ? [value] : valuesIn(value, field),
  );
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function pick(fields: object, names: readonly string[]): Record<string, string | number | null> {
  const all = fields as Record<string, string | number | null>;
  return Object.fromEntries(names.map((name) => [name, all[name] ?? null]));
}
