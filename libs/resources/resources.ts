import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Commands, RecordReader } from '#libs/commands';
import { BatchLoader, queryWide, ReadSource } from '#libs/database';
import { type DomainEvent, type Past } from '#libs/event-store';
import { countAt, linkedFrom, linkedTo } from '#libs/links';
import { type Condition, findRows, hasGoneOn, type RecordRow } from '#libs/projections';
import { type Input, isId, listingOf, noSuch, type Page, pageOf, PastRecord, RpcError } from '#libs/rpc';
import { type Resource, type ResourceRecord } from './resource.js';

export type ListQuery = Parameters<typeof listingOf>[0] &
  Parameters<typeof findRows>[1] & { include?: string };

/** Sets the fields of records that depend on other records. @param past undefined for the present. */
export type Completion = (
  organizationId: string,
  records: readonly ResourceRecord[],
  past?: Past,
) => Promise<void> | void;

/** Checks the events that a command would append. @throws RpcError */
export type EventCheck = (organizationId: string, events: readonly DomainEvent[]) => Promise<void>;

type RecordKey = { organizationId: string; id: string };

/** Records per statement. A record may have 256 KiB of content and more. */
const MOST_AT_ONCE = 10;

/** Reads current and past states of records of every kind. */
@Injectable()
export class Resources {
  private readonly rows = new Map<Resource, BatchLoader<RecordKey, RecordRow<object>>>();
  private readonly existing = new Map<Resource, BatchLoader<RecordKey, RecordRow<object>>>();
  private readonly completions = new Map<Resource, Completion[]>();
  private readonly checks = new Map<unknown, EventCheck>();
  /** Counts about to be read. */
  private readonly counting = new Map<string, Promise<number[]>>();

  constructor(
    private readonly source: DataSource,
    private readonly reads: ReadSource,
    private readonly records: RecordReader,
    private readonly commands: Commands,
  ) {}

  /** Completes all responses with records of this kind. Call it before the first request. */
  completeBy(resource: Resource, completion: Completion): void {
    this.completions.set(resource, [...(this.completions.get(resource) ?? []), completion]);
  }

  /** Checks all commands that create or change records of this kind. Call it before the first request. */
  checkBy(resource: Resource, check: EventCheck): void {
    this.checks.set(resource, check);
  }

  /** @throws RpcError as the check does. */
  async check(resource: unknown, organizationId: string, events: readonly DomainEvent[]): Promise<void> {
    await this.checks.get(resource)?.(organizationId, events);
  }

  /** @returns the record itself. */
  async complete(
    resource: Resource,
    organizationId: string,
    record: ResourceRecord,
    past?: Past,
  ): Promise<ResourceRecord> {
    await this.completeAll(resource, organizationId, [record], past);
    return record;
  }

  /**
   * The input's record, or its past state at `asOf`.
   *
   * @throws RpcError NOT_FOUND if it does not exist, or did not exist at that moment.
   */
  async get(
    resource: Resource,
    input: Input & { asOf?: string },
  ): Promise<ResourceRecord | PastRecord<ResourceRecord>> {
    const { organizationId, asOf } = input;
    const id = idIn(input, resource);
    if (asOf === undefined) {
      const record =
        (await this.find(resource, organizationId, id)) ?? (await this.fold(resource, organizationId, id));
      return this.complete(resource, organizationId, record);
    }
    const past = (await this.records.past(asOf))!;
    const record = await this.foldAt(resource, organizationId, id, past);
    return new PastRecord(await this.complete(resource, organizationId, record, past), past);
  }

  /** A record's current or past state; undefined if it does not or did not exist. */
  async findAt(
    resource: Resource,
    organizationId: string,
    id: string,
    past?: Past,
  ): Promise<ResourceRecord | undefined> {
    try {
      if (past) return await this.foldAt(resource, organizationId, id, past);
      return (
        (await this.find(resource, organizationId, id)) ?? (await this.fold(resource, organizationId, id))
      );
    } catch (error) {
      if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  private async foldAt(
    resource: Resource,
    organizationId: string,
    id: string,
    past: Past,
  ): Promise<ResourceRecord> {
    const folded = await this.records.look(resource.decider, organizationId, id, past);
    resource.existing(folded.state);
    return resource.record(
      organizationId,
      id,
      folded,
      await this.countsAt(resource, organizationId, id, past),
    );
  }

  private async completeAll(
    resource: Resource,
    organizationId: string,
    records: readonly ResourceRecord[],
    past?: Past,
  ): Promise<void> {
    const { beside } = resource;
    if (beside) {
      const ids = records.map(({ id }) => beside.idOf(id));
      const states = await this.records.lookAll(beside.decider, organizationId, ids, past);
      records.forEach((record, n) => Object.assign(record, states[n]));
    }
    for (const complete of this.completions.get(resource) ?? [])
      await complete(organizationId, records, past);
  }

  /** A page of existing records. */
  async list(
    resource: Resource,
    query: ListQuery,
    conditions: readonly (Condition | undefined)[] = [],
  ): Promise<Page<ResourceRecord>> {
    const page = resource.page(query.include);
    const { rows, next } = await findRows<RecordRow<object>>(this.reads, listingOf(query), page, {
      conditions,
    });
    const records = rows.map((row) => resource.recordOf(row));
    await this.completeAll(resource, query.organizationId, records);
    return pageOf(query, records, next);
  }

  /** Existing records with this value in a column, oldest first. For kinds with names. */
  having(
    { table }: Resource,
    organizationId: string,
    column: string,
    value: string,
    most: number,
  ): Promise<{ id: string; name: string }[]> {
    return this.source.query(
      `SELECT id, name FROM ${table} WHERE organization_id = $1 AND ${column} = $2 ORDER BY created_at, id LIMIT $3`,
      [organizationId, value, most],
    );
  }

  /**
   * Existing records with these ids, in any order.
   */
  named(
    { table, nameColumn }: Resource,
    organizationId: string,
    ids: readonly string[],
  ): Promise<{ id: string; name: string }[]> {
    return this.source.query(
      `SELECT id, ${nameColumn} AS name FROM ${table} WHERE organization_id = $1 AND id = ANY ($2::uuid[])`,
      [organizationId, ids],
    );
  }

  /**
   * Records to which this person has an active link, in the order of the links, newest first.
   */
  linkedWith(
    { table, linkTable, nameColumn }: Resource,
    organizationId: string,
    subjectId: string,
    most: number,
  ): Promise<{ id: string; name: string }[]> {
    return this.source.query(
      `SELECT r.id, r.${nameColumn} AS name FROM ${linkTable} l
       JOIN ${table} r ON r.organization_id = l.organization_id AND r.id = l.record_id
       WHERE l.organization_id = $1 AND l.subject_id = $2 AND l.ended_at IS NULL
       ORDER BY l.created_at DESC, l.id DESC LIMIT $3`,
      [organizationId, subjectId, most],
    );
  }

  /** @throws RpcError NOT_FOUND if the record does not exist. */
  async require(resource: Resource, organizationId: string, id: string): Promise<void> {
    let loader = this.existing.get(resource);
    if (!loader)
      this.existing.set(resource, (loader = this.loaderOf(resource, 'r.organization_id, r.id', '')));
    if (!isId(id) || !(await loader.load({ organizationId, id }))) throw noSuch(resource.object);
  }

  /**
   * The ids of existing records, by the given names. Names that differ only in case or in the composition of
   * their letters are the same. If several records share a name, the one spelled like it, then the oldest.
   */
  async findByName(
    { table }: Resource,
    organizationId: string,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const asked = names.flatMap((name) => [name, name.normalize('NFC'), name.normalize('NFD')]);
    // The oldest last, so that it replaces the others.
    const rows = await this.source.query<{ name: string; id: string }[]>(
      `SELECT name, id FROM (
         SELECT DISTINCT ON (name) name, id, created_at FROM ${table}
         WHERE organization_id = $1
           AND lower(name) = ANY (ARRAY(SELECT DISTINCT lower(asked) FROM unnest($2::text[]) AS asked))
         ORDER BY name, created_at, id) AS found
       ORDER BY created_at DESC, id DESC`,
      [organizationId, asked],
    );
    const byName = new Map(rows.map(({ name, id }) => [name, id]));
    const alike = new Map(rows.map(({ name, id }) => [comparableName(name), id]));
    return new Map(
      names.flatMap((name) => {
        const id = byName.get(name) ?? alike.get(comparableName(name));
        return id === undefined ? [] : [[name, id] as const];
      }),
    );
  }

  /**
   * A condition for lists of people: only those with an active link to the record.
   *
   * @throws RpcError NOT_FOUND if the record does not exist.
   */
  async linked(resource: Resource, organizationId: string, id: string): Promise<Condition> {
    await this.require(resource, organizationId, id);
    return { sql: linkedTo(resource.linkTable!), value: id };
  }

  /** A condition for lists of records: only those to which this person has an active link. An index finds them. */
  linkedFrom({ linkTable }: Resource, subjectId: string): Condition {
    return { sql: linkedFrom(linkTable!), value: subjectId, selective: true };
  }

  /**
   * The numbers of active links, in the order of their declaration; 0 if the record does not exist. Callers share one query
   * if they call before it starts, for example signers whose commands were projected together.
   */
  counts(resource: Resource, organizationId: string, id: string): Promise<number[]> {
    if (resource.countColumns.length === 0) return Promise.resolve([]);
    const key = `${organizationId} ${id}`;
    let counts = this.counting.get(key);
    if (!counts) {
      counts = nextTurn().then(() => {
        this.counting.delete(key);
        return this.readCounts(resource, organizationId, id);
      });
      this.counting.set(key, counts);
    }
    return counts;
  }

  private async readCounts(
    { table, countColumns }: Resource,
    organizationId: string,
    id: string,
  ): Promise<number[]> {
    const [row] = await this.source.query<Record<string, number>[]>(
      `SELECT ${countColumns.join(', ')} FROM ${table} WHERE organization_id = $1 AND id = $2`,
      [organizationId, id],
    );
    return countColumns.map((column) => row?.[column] ?? 0);
  }

  private countsAt(
    { countedLinks }: Resource,
    organizationId: string,
    id: string,
    { moment, position }: Past,
  ): Promise<number[]> {
    const values = [organizationId, id, moment, position];
    return Promise.all(
      countedLinks.map(async ({ table, isSuspendable }) => {
        const query = countAt(table, isSuspendable);
        const [row] = await queryWide<{ count: number }>(this.reads, organizationId, 'page', query, values);
        return row!.count;
      }),
    );
  }

  /** The record that has this slug, or had it within the last year; undefined if there is none. */
  async findBySlug(resource: Resource, organizationId: string, slug: string): Promise<string | undefined> {
    const [owner] = await this.commands.findOwners(organizationId, [resource.keyOfSlug(slug)]);
    return owner;
  }

  /** The link between record and person that ended last, if any. */
  async findEndedLink(
    { linkTable }: Resource,
    organizationId: string,
    id: string,
    subjectId: string,
  ): Promise<string | undefined> {
    const [row] = await this.source.query<{ id: string }[]>(
      `SELECT id FROM ${linkTable} WHERE organization_id = $1 AND subject_id = $3 AND record_id = $2
         AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1`,
      [organizationId, id, subjectId],
    );
    return row?.id;
  }

  /** The record from its projection; undefined if it is not there, or if the history has newer events. */
  async find(resource: Resource, organizationId: string, id: string): Promise<ResourceRecord | undefined> {
    if (!isId(id)) return undefined;
    let rows = this.rows.get(resource);
    if (!rows) this.rows.set(resource, (rows = this.loaderOf(resource)));
    const row = await rows.load({ organizationId, id });
    return row && resource.recordOf(row);
  }

  private loaderOf(
    { table }: Resource,
    columns = 'r.*',
    where = `WHERE NOT ${hasGoneOn('r')}`,
  ): BatchLoader<RecordKey, RecordRow<object>> {
    const nameOf = (organizationId: string, id: string) => `${organizationId} ${id}`;
    const text = `
      SELECT ${columns} FROM unnest($1::uuid[], $2::uuid[]) AS asked(organization_id, id)
      JOIN ${table} r ON r.organization_id = asked.organization_id AND r.id = asked.id ${where}`;
    return new BatchLoader(
      async (keys) => {
        const rows = await this.source.query<RecordRow<object>[]>(text, [
          keys.map(({ organizationId }) => organizationId),
          keys.map(({ id }) => id),
        ]);
        return new Map(rows.map((row) => [nameOf(row.organization_id, row.id), row]));
      },
      ({ organizationId, id }) => nameOf(organizationId, id),
      MOST_AT_ONCE,
    );
  }

  private async fold(resource: Resource, organizationId: string, id: string): Promise<ResourceRecord> {
    const folded = await this.records.look(resource.decider, organizationId, id);
    resource.existing(folded.state);
    return resource.record(organizationId, id, folded, await this.counts(resource, organizationId, id));
  }
}

/** Names are the same if this is the same: `Volunteers` and `volunteers`, é as one character or as two. */
export function comparableName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

export function idIn(input: object, { idField }: Resource): string {
  return (input as Record<string, string>)[idField]!;
}
