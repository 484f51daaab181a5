import { binaryArray, type ElementType, type Sql, type Transaction } from '#libs/database';
import { type Past, type Seal } from '#libs/event-store';
import { type Condition, type LinkChange } from '#libs/projections';
import { type Counted, type Facts } from './link.js';

/** The name under which a link's `detail` is sealed. */
export const LINK_DETAIL = 'link.detail';

/**
 * A link. `detail` is the person's own text, sealed. A suspended link counts as ended; `suspended_by` is the stream that can
 * resume it.
 */
export type LinkRow = {
  organization_id: string;
  id: string;
  record_id: string;
  subject_id: string | null;
  detail: Buffer | null;
  created_at: Date;
  created_position: number;
  ended_at: Date | null;
  ended_position: number | null;
};

/** The maximum number of records whose counts are cached. Enough for those being signed now. */
const MOST_COUNTED = 1_000;

/**
 * A projection of links between records and people (signatures, memberships), each with its own stream, and of their exact
 * number per record. Ended links stay in the table, so that the number at any past moment is known. A page of thousands of
 * events takes four statements.
 */
export class LinkTable {
  /** By record, in the order of their last change. */
  private readonly counted = new Map<string, { count: number; position: number }>();

  /**
   * @param table the links' table.
   * @param counter the table (with `organization_id`, `id`) and column that contain the number of a record's active links.
   */
  constructor(
    private readonly table: string,
    private readonly counter: { table: string; column: string },
    private readonly link: Pick<Counted, 'atErasure' | 'isSuspendable' | 'facts' | 'indexes'>,
  ) {}

  private get isSuspendable(): boolean {
    return this.link.isSuspendable;
  }

  private get facts(): [column: string, fact: Facts[string]][] {
    return Object.entries(this.link.facts ?? {});
  }

  /**
   * The number of a record's active links that this instance last projected.
   *
   * @param position of an event that the number must include.
   * @returns undefined if the number known here may not include it.
   */
  countSince(id: string, position: number): number | undefined {
    const known = this.counted.get(id);
    return known && known.position >= position ? known.count : undefined;
  }

  private remember(id: string, count: number, position: number): void {
    // A rebuild processes the same events again.
    if ((this.counted.get(id)?.position ?? 0) >= position) return;
    this.counted.delete(id);
    this.counted.set(id, { count, position });
    if (this.counted.size > MOST_COUNTED) this.counted.delete(this.counted.keys().next().value!);
  }

  get definition(): string {
    return `
      CREATE TABLE ${this.table} (
        organization_id uuid           NOT NULL,
        id              uuid           NOT NULL,
        record_id       uuid           NOT NULL,
        subject_id      uuid,
        detail          bytea,
        created_at       timestamptz(3) NOT NULL,
        created_position bigint         NOT NULL,
        ended_at         timestamptz(3),
        ended_position   bigint,
        ${this.isSuspendable ? 'suspended_by uuid,' : ''}
        ${this.facts.map(([column, { type }]) => `${column} ${type},`).join('\n        ')}
        PRIMARY KEY (organization_id, id)
      );
      CREATE INDEX ${this.table}_by_creation ON ${this.table} (organization_id, record_id, created_at, id);
      CREATE INDEX ${this.indexBySubject} ON ${this.table} (organization_id, subject_id, record_id);
      ${this.isSuspendable ? this.suspensions : ''}
      ${this.link.indexes?.(this.table) ?? ''}`;
  }

  /** The table contains suspensions that are over. The start of a current one is in the link's own row. */
  private get suspensions(): string {
    return `
      CREATE INDEX ${this.table}_suspended ON ${this.table} (organization_id, record_id, created_at, id)
        WHERE suspended_by IS NOT NULL;
      CREATE INDEX ${this.table}_by_suspension ON ${this.table} (organization_id, suspended_by, id)
        WHERE suspended_by IS NOT NULL;
      CREATE TABLE ${suspensionsOf(this.table)} (
        organization_id uuid           NOT NULL,
        id              uuid           NOT NULL,
        begun_at        timestamptz(3) NOT NULL,
        begun_position  bigint         NOT NULL,
        ended_at        timestamptz(3) NOT NULL,
        ended_position  bigint         NOT NULL,
        PRIMARY KEY (organization_id, id, begun_position)
      );`;
  }

  get indexBySubject(): string {
    return `${this.table}_by_subject`;
  }

  async apply(changes: readonly LinkChange[], transaction: Transaction, seal: Seal): Promise<void> {
    // Suspensions and changed facts are rare and are applied one by one. The changes between them are applied together.
    let others: LinkChange[] = [];
    for (const change of changes) {
      if (change.kind !== 'suspended' && change.kind !== 'resumed' && change.kind !== 'set') {
        others.push(change);
        continue;
      }
      await this.applyOthers(others, transaction, seal);
      others = [];
      if (change.kind === 'set') this.set(change, transaction);
      else this.suspend(change, transaction);
    }
    await this.applyOthers(others, transaction, seal);
  }

  private set(
    { event, linkId, fact, value }: Extract<LinkChange, { kind: 'set' }>,
    transaction: Transaction,
  ) {
    void transaction.send(
      `UPDATE ${this.table} SET ${fact} = $3 WHERE organization_id = $1 AND id = $2 AND ${fact} IS NOT NULL`,
      [event.organizationId, linkId, value],
    );
  }

  private suspend(
    { kind, event, recordId, linkIds }: Extract<LinkChange, { kind: 'suspended' | 'resumed' }>,
    transaction: Transaction,
  ): void {
    const { organizationId, streamId, recordedAt, position } = event;
    const { table, column } = this.counter;
    const counted = `
      UPDATE ${table} SET ${column} = ${column} ${kind === 'suspended' ? '-' : '+'} (SELECT count(*) FROM changed)
      WHERE organization_id = $1 AND id = $3 RETURNING ${column} AS count`;
    const changed =
      kind === 'suspended'
        ? `WITH changed AS (
             UPDATE ${this.table} SET suspended_by = $4, ended_at = $5, ended_position = $6
             WHERE organization_id = $1 AND id = ANY ($2::uuid[]) AND record_id = $3 AND ended_at IS NULL
             RETURNING id
           )`
        : `WITH suspended AS (
             SELECT id, ended_at, ended_position FROM ${this.table}
             WHERE organization_id = $1 AND id = ANY ($2::uuid[]) AND record_id = $3 AND suspended_by = $4
           ), over AS (
             INSERT INTO ${suspensionsOf(this.table)} (organization_id, id, begun_at, begun_position, ended_at, ended_position)
             SELECT $1::uuid, id, ended_at, ended_position, $5::timestamptz, $6::bigint FROM suspended
           ), changed AS (
             UPDATE ${this.table} l SET suspended_by = NULL, ended_at = NULL, ended_position = NULL
             FROM suspended WHERE l.organization_id = $1 AND l.id = suspended.id
             RETURNING l.id
           )`;
    const rows = transaction.send<[{ count: number }[], number]>(`${changed} ${counted}`, [
      organizationId,
      linkIds,
      recordId,
      streamId,
      recordedAt,
      position,
    ]);
    transaction.afterCommit(() => {
      void rows.then(([[row]]) => row && this.remember(recordId, row.count, position));
    });
  }

  private async applyOthers(
    changes: readonly LinkChange[],
    transaction: Transaction,
    seal: Seal,
  ): Promise<void> {
    const begun = new Map<string, LinkRow & Record<string, unknown>>();
    const ended = new Map<
      string,
      { organization_id: string; id: string; ended_at: Date; position: number }
    >();
    const moved = new Map<string, Record<string, unknown>>();
    const erased: { organization_id: string; subject_id: string; erased_at: Date; position: number }[] = [];
    const counts = new Map<string, { organization_id: string; record_id: string; difference: number }>();
    const count = (organization_id: string, record_id: string, difference: number) => {
      const before = counts.get(record_id)?.difference ?? 0;
      counts.set(record_id, { organization_id, record_id, difference: before + difference });
    };

    for (const change of changes) {
      const { organizationId: organization_id, streamId: id, recordedAt, position } = change.event;
      switch (change.kind) {
        case 'begins': {
          const { event, recordId: record_id, subjectId: subject_id } = change;
          const detail = change.detail == null ? null : seal(event, LINK_DETAIL, change.detail);
          const row = { organization_id, id, record_id, subject_id, detail };
          const begin = { created_at: recordedAt, created_position: position };
          const facts = Object.fromEntries(this.facts.map(([column, fact]) => [column, fact.of(event)]));
          begun.set(id, { ...row, ...begin, ended_at: null, ended_position: null, ...facts });
          count(organization_id, record_id, +1);
          break;
        }
        case 'ends': {
          // A history can end a link twice, because earlier versions did so in a race. Only the first end counts.
          const row = begun.get(id);
          if (!row) {
            if (!ended.has(id)) ended.set(id, { organization_id, id, ended_at: recordedAt, position });
          } else if (row.ended_at === null) {
            Object.assign(row, { ended_at: recordedAt, ended_position: position });
            count(organization_id, change.recordId, -1);
          }
          break;
        }
        case 'moved': {
          const { event, subjectId: subject_id } = change;
          const detail = change.detail == null ? null : seal(event, LINK_DETAIL, change.detail);
          const facts = Object.fromEntries(
            this.personalFacts.map(([column, fact]) => [column, fact.of(event)]),
          );
          const row = begun.get(id);
          if (row) Object.assign(row, { subject_id, detail, ...facts });
          else moved.set(id, { organization_id, id, subject_id, detail, ...facts });
          break;
        }
        case 'suspended':
        case 'resumed':
        case 'set':
          break;
        case 'erased':
          erased.push({ organization_id, subject_id: id, erased_at: recordedAt, position });
      }
    }

    if (begun.size > 0) {
      void transaction.send(this.insertion, columnsOf(begun.values(), { ...ROW_TYPES, ...this.factTypes }));
    }
    if (ended.size > 0) {
      for (const link of await this.endAll([...ended.values()], transaction))
        count(link.organization_id, link.record_id, -1);
    }
    if (moved.size > 0) {
      const types = this.movedTypes;
      const columns = Object.keys(types);
      void transaction.send(
        `UPDATE ${this.table} l
         SET ${columns
           .slice(2)
           .map((column) => `${column} = m.${column}`)
           .join(', ')}
         FROM unnest(${columns.map((column, n) => `$${n + 1}::${types[column]}[]`).join(', ')})
           AS m(${columns.join(', ')})
         WHERE l.organization_id = m.organization_id AND l.id = m.id`,
        columnsOf(moved.values(), types),
      );
    }
    // After all other changes, because the log has no events about a person after their erasure.
    if (erased.length > 0) {
      for (const link of await this.erase(erased, transaction))
        count(link.organization_id, link.record_id, -1);
    }
    if (counts.size > 0) {
      const counted = transaction.send<[{ id: string; count: number }[], number]>(
        ...this.countBy([...counts.values()]),
      );
      const { position } = changes.at(-1)!.event;
      transaction.afterCommit(() => {
        void counted.then(([rows]) => rows.forEach(({ id, count }) => this.remember(id, count, position)));
      });
    }
  }

  private get personalFacts(): [column: string, fact: Facts[string]][] {
    return this.facts.filter(([, { isPersonal }]) => isPersonal);
  }

  /** The columns that a move sets, after the key. */
  private get movedTypes(): Record<string, ElementType> {
    const { organization_id, id, subject_id, detail } = ROW_TYPES;
    const facts = Object.fromEntries(this.personalFacts.map(([column, { type }]) => [column, type]));
    return { organization_id, id, subject_id, detail, ...facts };
  }

  private get factTypes(): Record<string, ElementType> {
    return Object.fromEntries(this.facts.map(([column, { type }]) => [column, type]));
  }

  private get insertion(): string {
    const types = Object.entries({ ...ROW_TYPES, ...this.factTypes });
    const columns = types.map(([column]) => column).join(', ');
    return `INSERT INTO ${this.table} (${columns})
         SELECT * FROM unnest(${types.map(([, type], n) => `$${n + 1}::${type}[]`).join(', ')})`;
  }

  /** A statement that changes counters and returns their new values. */
  private countBy(counts: { organization_id: string; record_id: string; difference: number }[]) {
    const { table, column } = this.counter;
    const [first] = counts;
    // Usually only one record is counted. Planning the join would take PostgreSQL longer than everything else.
    const statement: [text: string, values: unknown[]] =
      first && counts.length === 1
        ? [
            `UPDATE ${table} SET ${column} = ${column} + $3::int WHERE organization_id = $1 AND id = $2
             RETURNING id, ${column} AS count`,
            [first.organization_id, first.record_id, first.difference],
          ]
        : [
            `UPDATE ${table} r SET ${column} = r.${column} + c.difference
             FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS c(organization_id, record_id, difference)
             WHERE r.organization_id = c.organization_id AND r.id = c.record_id
             RETURNING r.id, r.${column} AS count`,
            columnsOf(counts, { organization_id: 'uuid', record_id: 'uuid', difference: 'int' }),
          ];
    return statement;
  }

  /**
   * Ends links. An ended link does not change. A suspended link keeps the time of its suspension as its end, and cannot be
   * resumed.
   *
   * @returns the links that counted until then.
   */
  private async endAll(
    ended: readonly { organization_id: string; id: string; ended_at: Date; position: number }[],
    transaction: Sql,
  ): Promise<Pick<LinkRow, 'organization_id' | 'record_id'>[]> {
    const links = await transaction.query<(LinkRow & { stood: boolean })[]>(
      `WITH gone AS (
         SELECT l.organization_id, l.id, l.record_id, l.ended_at IS NULL AS stood, e.ended_at, e.position
         FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[])
           AS e(organization_id, id, ended_at, position)
         JOIN ${this.table} l ON l.organization_id = e.organization_id AND l.id = e.id
       ), over AS (
         UPDATE ${this.table} l SET ended_at = coalesce(l.ended_at, gone.ended_at),
           ended_position = coalesce(l.ended_position, gone.position)
           ${this.isSuspendable ? ', suspended_by = NULL' : ''}
         FROM gone WHERE l.organization_id = gone.organization_id AND l.id = gone.id
       )
       SELECT organization_id, record_id, stood FROM gone`,
      columnsOf(ended, {
        organization_id: 'uuid',
        id: 'uuid',
        ended_at: 'timestamptz',
        position: 'bigint',
      }),
    );
    return links.filter(({ stood }) => stood);
  }

  /** @returns the active links that the erasure ended. */
  private async erase(
    erased: readonly { organization_id: string; subject_id: string; erased_at: Date; position: number }[],
    transaction: Sql,
  ): Promise<Pick<LinkRow, 'organization_id' | 'record_id'>[]> {
    const ends = this.link.atErasure === 'ends';
    const personal = this.personalFacts.map(([column]) => `, ${column} = NULL`);
    const links = await transaction.query<(LinkRow & { stood: boolean })[]>(
      `WITH gone AS (
         SELECT l.organization_id, l.id, l.record_id, l.ended_at IS NULL AS stood, e.erased_at, e.position
         FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[])
           AS e(organization_id, subject_id, erased_at, position)
         JOIN ${this.table} l ON l.organization_id = e.organization_id AND l.subject_id = e.subject_id
       ), nameless AS (
         UPDATE ${this.table} l SET subject_id = NULL, detail = NULL${personal.join('')}
           ${
             ends
               ? `, ended_at = coalesce(l.ended_at, gone.erased_at),
               ended_position = coalesce(l.ended_position, gone.position)
               ${this.isSuspendable ? ', suspended_by = NULL' : ''}`
               : ''
           }
         FROM gone WHERE l.organization_id = gone.organization_id AND l.id = gone.id
       )
       SELECT organization_id, record_id, stood FROM gone`,
      columnsOf(erased, {
        organization_id: 'uuid',
        subject_id: 'uuid',
        erased_at: 'timestamptz',
        position: 'bigint',
      }),
    );
    return links.filter(({ stood }) => ends && stood);
  }
}

const ROW_TYPES: { [column in keyof LinkRow]: ElementType } = {
  organization_id: 'uuid',
  id: 'uuid',
  record_id: 'uuid',
  subject_id: 'uuid',
  detail: 'bytea',
  created_at: 'timestamptz',
  created_position: 'bigint',
  ended_at: 'timestamptz',
  ended_position: 'bigint',
};

/** Converts rows to one array per column, for `unnest`. */
function columnsOf<Row extends object>(
  rows: Iterable<Row>,
  types: { [column in keyof Row]: ElementType },
): Buffer[] {
  const all = [...rows];
  return (Object.keys(types) as (keyof Row)[]).map((name) =>
    binaryArray(
      types[name],
      all.map((row) => row[name]),
    ),
  );
}

/** SQL for the size of a row in bytes, for `findRows`. */
export const LINK_BYTES = 'coalesce(octet_length(detail), 0)';
/** The maximum size of a row in bytes: a detail has at most 10,000 characters. */
export const WIDEST_LINK = 4 * 10_000 + 100;

/** SQL for the number of a record's active links at a past moment. Parameters: organization, record, moment, position. */
export function countAt(table: string, isSuspendable: boolean): string {
  return `SELECT count(*)::int AS count FROM ${table} l WHERE ${stoodAt(table, isSuspendable)}`;
}

/** SQL condition: link `l` of a record was active at a past moment. Parameters: see `countAt`. */
export function stoodAt(table: string, isSuspendable: boolean): string {
  const stood = `l.organization_id = $1 AND l.record_id = $2 AND ${existedAt('$3', '$4', 'l.')}`;
  return isSuspendable ? `${stood} AND ${notSuspendedAt(table, '$3', '$4', 'l.')}` : stood;
}

/** The same for a list of the links of one record. */
export function activeAt(table: string, isSuspendable: boolean, { moment, position }: Past): Condition {
  return {
    write(bind) {
      const [at, upTo] = [`${bind(moment)}::timestamptz`, `${bind(position)}::bigint`];
      const existed = existedAt(at, upTo);
      return isSuspendable ? `${existed} AND ${notSuspendedAt(table, at, upTo)}` : existed;
    },
  };
}

/** SQL condition: a row with a beginning and an end existed at a past moment. @param row a prefix of its columns. */
export function existedAt(moment: string, position: string, row = ''): string {
  return `${row}created_at <= ${moment} AND ${row}created_position <= ${position}
    AND (${row}ended_at IS NULL OR ${row}ended_at > ${moment} OR ${row}ended_position > ${position})`;
}

function notSuspendedAt(table: string, moment: string, position: string, row = ''): string {
  // Renamed, so that `id` without a prefix is that of the link.
  return `NOT EXISTS (
    SELECT FROM (
      SELECT id AS link_id, begun_at, begun_position, ended_at AS over_at, ended_position AS over_position
      FROM ${suspensionsOf(table)} WHERE organization_id = $1
    ) s
    WHERE s.link_id = ${row}id AND s.begun_at <= ${moment} AND s.begun_position <= ${position}
      AND (s.over_at > ${moment} OR s.over_position > ${position}))`;
}

function suspensionsOf(table: string): string {
  return `${table}_suspensions`;
}

/** SQL condition: the person in place of `?` has an active link to a record (`organization_id`, `id`) of organization $1. */
export function linkedFrom(table: string): string {
  return `(organization_id, id) IN (
    SELECT l.organization_id, l.record_id FROM ${table} l
    WHERE l.organization_id = $1 AND l.subject_id = ? AND l.ended_at IS NULL)`;
}

/** SQL condition: a contact (`organization_id`, `id`) of organization $1 has an active link to the record in place of `?`. */
export function linkedTo(table: string): string {
  return `(organization_id, id) IN (
    SELECT l.organization_id, l.subject_id FROM ${table} l
    WHERE l.organization_id = $1 AND l.record_id = ? AND l.ended_at IS NULL)`;
}
