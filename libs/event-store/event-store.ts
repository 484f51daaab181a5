import { type DataSource, QueryFailedError } from 'typeorm';
import { NIL } from 'uuid';
import {
  inTransaction,
  isCollision,
  isUnavailable,
  queryInTurn,
  queryWide,
  type Sql,
  type WideQuery,
} from '#libs/database';
import { Distribution, SECONDS } from '#libs/measures';
import { traced } from '#libs/tracing';
import { appendBatch, type AppendCommand, type AppendResult, GivenUp } from './append.js';
import { takeBatch } from './batch.js';
import {
  type DomainEvent,
  isObject,
  type Json,
  type JsonObject,
  type Metadata,
  type RecordedEvent,
  type Seal,
} from './event.js';
import { type EventFilter, historyQuery } from './history-query.js';
import { type KeyCheck, type Keyring, type KeyringFault } from './keyring.js';
import { decryptPersonal, openValue, sealValue } from './personal-data.js';
import { readSchema, upcast, type Upcasters } from './upcasting.js';

/** Calls under way at once: while one waits for the disk, the next is being planned. */
const MOST_CALLS_IN_FLIGHT = 2;
/** A command that lost only to commands which failed themselves wins within a few rounds. */
const MOST_RETRIES = 10;

/** For a probe: an append that takes longer waits for something. */
const PROBE_MS = 2_000;
/** SQLSTATE: the disk of the database is full. */
const DISK_FULL = '53100';

/** What became of the calls of append_events: for whoever watches whether writing works. */
export type AppendTraffic = {
  underWay: number;
  /** By the database, whatever it answered to each command. */
  answered: number;
  failed: number;
};

/** SQLSTATE: a key was wrapped with a master that another has replaced since (`migrations/0016-master-keys.ts`). */
const MASTER_REPLACED = 'KR001';

/** Deadlocks of one call: after each it is repeated at once, for it was undone. */
const MOST_COLLISIONS = 3;

type Waiting = {
  command: AppendCommand;
  retries: number;
  resolve: (result: AppendResult) => void;
  reject: (error: unknown) => void;
};

/** A row of `events`, with the key to its personal data. */
export type EventRow = {
  position: string;
  organization_id: string;
  stream_type: string;
  stream_id: string;
  version: number;
  event_id: string;
  type: string;
  schema: number;
  data: JsonObject;
  personal: Buffer | null;
  subject_id: string | null;
  metadata: Metadata;
  recorded_at: Date;
  digest: Buffer;
  wrapped_key: Buffer | null;
};

/** The log: append-only, in one fixed global order, the only source of truth. */
export class EventStore {
  private readonly queue: Waiting[] = [];
  private calls = 0;
  /** What `append` does, for who watches it: commands of a call, and seconds that it took. */
  readonly batches = new Distribution([1, 2, 5, 10, 25, 50, 100, 200]);
  readonly callSeconds = new Distribution(SECONDS);
  private answered = 0;
  private failed = 0;
  /** A position that was given out, the highest known here. */
  private given = 0;
  private isDiskFull = false;
  /** The keys of events with personal data, for as long as somebody has the events. */
  private readonly subjectKeys = new WeakMap<RecordedEvent, Buffer>();

  constructor(
    private readonly source: DataSource,
    readonly keyring: Keyring,
    private readonly upcasters: Upcasters = {},
    /** Where the history and pasts are read. */
    private readonly reads: Sql = source,
  ) {}

  /**
   * Appends what one command decided, whole or not at all; it is durable when the promise resolves.
   * Commands that wait at the same moment share one call (group append).
   *
   * @throws when the database cannot be reached: whether the command was stored is then unknown, and
   *   repeating the request is safe because of its idempotency. GivenUp: it was not stored.
   */
  append(command: AppendCommand): Promise<AppendResult> {
    const wait = () =>
      new Promise<AppendResult>((resolve, reject) => {
        this.queue.push({ command, retries: 0, resolve, reject });
        // Not at once: the other requests that this turn of the event loop brings join the call.
        if (this.queue.length === 1) setImmediate(() => this.callNext());
      });
    return traced('append', { streams: command.writes.length }, wait);
  }

  /** Commands that wait for a call, and calls under way. */
  get load(): { waiting: number; calls: number } {
    return { waiting: this.queue.length, calls: this.calls };
  }

  get traffic(): AppendTraffic {
    return { underWay: this.calls, answered: this.answered, failed: this.failed };
  }

  /**
   * Does what an append does, but stores nothing: takes its locks, needs its rights, and a database that can be written.
   *
   * @throws what an append would; waits for two seconds at most.
   */
  async probe(): Promise<void> {
    await inTransaction(this.source, { statement: PROBE_MS }, async (transaction) => {
      const nothing = { organizationId: NIL, metadata: PROBE_METADATA, writes: [] };
      await appendBatch(transaction, this.keyring, [nothing], this.upcasters);
      // Nothing finds room on a full disk as well. A sort beyond its memory takes some and gives it back.
      if (this.isDiskFull) for (const statement of TAKE_ROOM) await transaction.query(statement);
    });
    this.isDiskFull = false;
  }

  private callNext(): void {
    while (this.calls < MOST_CALLS_IN_FLIGHT && this.queue.length > 0) {
      const batch = takeBatch(this.queue);
      this.calls += 1;
      void this.call(batch).finally(() => {
        this.calls -= 1;
        this.callNext();
      });
    }
  }

  private async call(taken: readonly Waiting[], collisions = 0): Promise<void> {
    const batch = taken.filter(({ command, reject }) => {
      // Stored late, it would undo what its caller has done in the meantime, having been told of a failure.
      if (command.isGivenUp?.() !== true) return true;
      reject(new GivenUp());
      return false;
    });
    if (batch.length === 0) return;
    const started = performance.now();
    try {
      const results = await appendBatch(
        this.source,
        this.keyring,
        batch.map((waiting) => waiting.command),
        this.upcasters,
      );
      this.answered += 1;
      this.isDiskFull = false;
      results.forEach((result, index) => {
        if (result.status === 'appended') this.wasGiven(result.position ?? 0);
        this.answer(batch[index]!, result);
      });
    } catch (error) {
      this.failed += 1;
      this.isDiskFull ||= codeOf(error) === DISK_FULL;
      // Locks are taken in one order, but others than appends (an operator's, a migration's) may not keep to it.
      if ((isCollision(error) || (await this.hasNextMaster(error))) && collisions < MOST_COLLISIONS) {
        return this.call(batch, collisions + 1);
      }
      // The call was rolled back as a whole. One by one, so that a bad command cannot hurt its neighbours;
      // not when the connection broke, for then nobody knows whether it was committed.
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const waiting of batch) await this.call([waiting]);
      } else if (batch.length === 1 && isStreamRace(error)) {
        batch[0]!.resolve({ status: 'version' });
      } else {
        for (const waiting of batch) waiting.reject(error);
      }
    } finally {
      this.batches.add(batch.length);
      this.callSeconds.add((performance.now() - started) / 1_000);
    }
  }

  /** Whether a call failed because the master was replaced, and the next one is known here. */
  private async hasNextMaster(error: unknown): Promise<boolean> {
    if (codeOf(error) !== MASTER_REPLACED) return false;
    const fault = await this.openKeyring().catch(() => 'unknown');
    return fault === undefined;
  }

  private answer(waiting: Waiting, result: AppendResult): void {
    if (result.status === 'retry' && waiting.retries < MOST_RETRIES) {
      waiting.retries += 1;
      this.queue.push(waiting);
    } else {
      waiting.resolve(result);
    }
  }

  /**
   * One stream's events, oldest first, personal data decrypted where its subject stands. All at once: where they
   * may be many, take `readStreamPages`.
   *
   * @param until only events up to this version, recorded up to this moment, up to this position (inclusive).
   */
  async readStream<Event extends DomainEvent>(
    organizationId: string,
    streamId: string,
    until: Until = {},
  ): Promise<RecordedEvent<Event>[]> {
    const events: RecordedEvent<Event>[] = [];
    for await (const page of this.readStreamPages<Event>(organizationId, streamId, until))
      events.push(...page);
    return events;
  }

  /** The same in pages of `PAGE_BYTES`, and only events after a version. */
  async *readStreamPages<Event extends DomainEvent>(
    organizationId: string,
    streamId: string,
    { version, moment, position, after = 0 }: Until & { after?: number },
  ): AsyncGenerator<RecordedEvent<Event>[]> {
    for (let last = after, more = true; more;) {
      const values = [organizationId, streamId, version ?? null, position ?? null, last, PAGE];
      // A past is read from the first event on, however many there are; what commands read is bounded.
      const rows = await (moment
        ? queryWide<PageRow>(this.reads, organizationId, 'page', STREAM_PAGE, values)
        : this.source.query<PageRow[]>(STREAM_PAGE, values));
      // Up to the first that came later, not all that did not: of versions before 0.3.0 the times of a stream may go
      // back, and what was never without the event before it is not read without it.
      const later = moment ? rows.findIndex(({ recorded_at }) => recorded_at > moment) : -1;
      const wanted = await this.inLog(later === -1 ? rows : rows.slice(0, later));
      if (wanted.length === 0) return;
      yield this.read<Event>(wanted);
      last = wanted.at(-1)!.version;
      more = later === -1 && (isCut(rows) || rows.length === PAGE);
    }
  }

  /**
   * Streams as they are now, in one statement: what the read model has of each, and the events that it has not taken in
   * yet: some of them, of one stream `MOST_ALONG` at most.
   *
   * @param snapshots the SELECT of `Snapshots`; left out, the events from the beginning.
   */
  async readStreamsNow<Event extends DomainEvent>(
    organizationId: string,
    streamIds: readonly string[],
    snapshots?: string,
  ): Promise<Map<string, StreamNow<Event>>> {
    const along = streamIds.length === 1 ? MOST_ALONG : MOST_ALONG_MANY;
    const values = [organizationId, streamIds, along];
    const rows = await this.source.query<(EventRow & SnapshotRow)[]>(streamsNow(snapshots), values);
    const streams = new Map<string, StreamNow<Event>>();
    for (const { id, snapshot_version: version, created_at, updated_at, state } of rows) {
      if (streams.has(id)) continue;
      const snapshot =
        version === null
          ? undefined
          : { version, createdAt: created_at!, updatedAt: updated_at!, state: JSON.parse(state!) as Json };
      streams.set(id, { snapshot, events: [], isWhole: true });
    }
    const found = rows.filter(({ position }) => position !== null);
    const ours = await this.inLog(found);
    for (const event of this.read<Event>(ours)) {
      const stream = streams.get(event.streamId)!;
      stream.events.push(event);
      stream.isWhole = stream.events.length < along && ours.length === found.length;
    }
    return streams;
  }

  /**
   * The position up to which the log is complete: no event will ever appear at or below it that is not
   * there already. Read events in a *later* statement than this, or the promise does not hold.
   */
  async horizon(sql: Sql = this.source): Promise<number> {
    const [row] = await sql.query<{ horizon: string }[]>('SELECT event_horizon() AS horizon');
    return this.wasGiven(Number(row!.horizon));
  }

  /** The highest position given out so far; events below it may still be on their way. */
  async lastPosition(): Promise<number> {
    const [row] = await this.source.query<{ position: string }[]>('SELECT last_position() AS position');
    return this.wasGiven(Number(row!.position));
  }

  /**
   * Of rows found by their streams or ids those at positions that the sequence gave. Who reads the log in order comes to no
   * other, so whoever put it there: what is answered is what is sealed, exported and verified. Asked only where a row is
   * above all that is known here to be given, since asking in each statement made it a tenth slower.
   */
  private async inLog<Row extends { position: string }>(rows: Row[]): Promise<Row[]> {
    if (rows.some(({ position }) => Number(position) > this.given)) await this.lastPosition();
    return rows.filter(({ position }) => Number(position) > 0 && Number(position) <= this.given);
  }

  private wasGiven(position: number): number {
    this.given = Math.max(this.given, position);
    return position;
  }

  /**
   * A page of the log in its global order: positions above `after`, up to `upTo` (which must not lie
   * beyond a horizon read before). Without events in shapes that this version of the program does not know.
   */
  async readAll(
    after: number,
    upTo: number,
    limit: number,
    types: readonly string[] | null = null,
    sql: Sql = this.source,
  ): Promise<RecordedEvent[]> {
    const rows = await sql.query<EventRow[]>(READ_ALL, [after, upTo, limit, types]);
    return this.readable(rows).events;
  }

  /**
   * The next page of these types of events, `limit` of them at most and 16 MiB, one at least.
   *
   * @returns also its `end`: everything up to there has been read.
   */
  async readPage(
    after: number,
    upTo: number,
    limit: number,
    types: readonly string[],
    sql: Sql = this.source,
  ): Promise<{ events: RecordedEvent[]; end: number }> {
    const [row] = await sql.query<{ end: string }[]>(
      'SELECT page_end($1, $2, $3, $4, 16 * 1024 * 1024) AS end',
      [after, upTo, types, limit],
    );
    const end = Number(row!.end);
    return { events: await this.readAll(after, end, limit, types, sql), end };
  }

  /**
   * The history of an organization as it is stored, oldest first, personal data decrypted where its subject
   * stands.
   *
   * @param range positions above `after`, up to `upTo` (which must not lie beyond a horizon read before).
   * @returns `limit` events at most, fewer where they are wide (`PAGE_BYTES`), one at least; and whether there are more.
   */
  async readHistory(
    organizationId: string,
    range: { after: number; upTo: number },
    limit: number,
    filter: EventFilter = {},
    kind: WideQuery = 'page',
  ): Promise<{ events: RecordedEvent[]; hasMore: boolean }> {
    const query = await historyQuery(this.reads, organizationId, range, limit + 1, filter);
    if (!query) return { events: [], hasMore: false };
    const text = firstBytes(`SELECT e.position FROM events e ${query.text}`);
    const rows = await queryWide<PageRow>(this.reads, organizationId, kind, text, query.values);
    const events = this.readStored(rows.slice(0, limit));
    return { events, hasMore: isCut(rows) || rows.length > limit };
  }

  async findEvent(organizationId: string, eventId: string): Promise<RecordedEvent | undefined> {
    const rows = await this.source.query<EventRow[]>(
      `${EVENTS_WITH_KEYS}
       WHERE e.organization_id = $1 AND e.event_id = $2`,
      [organizationId, eventId],
    );
    return this.readStored(await this.inLog(rows))[0];
  }

  /** The position of the organization's event before this one; 0 for its first. */
  async previousPosition(organizationId: string, position: number): Promise<number> {
    const [row] = await this.source.query<{ position: string }[]>(
      `SELECT position FROM events WHERE organization_id = $1 AND position > 0 AND position < $2
       ORDER BY position DESC LIMIT 1`,
      [organizationId, position],
    );
    return Number(row?.position ?? 0);
  }

  /** The highest position that these streams have; 0 where they are none. */
  async lastPositionOf(organizationId: string, streamIds: readonly string[]): Promise<number> {
    if (streamIds.length === 0) return 0;
    const rows = await this.source.query<{ position: string }[]>(
      `SELECT last.position FROM unnest($2::uuid[]) AS s(id) CROSS JOIN LATERAL (
         SELECT e.position FROM events e WHERE e.organization_id = $1 AND e.stream_id = s.id
         ORDER BY e.version DESC LIMIT 1
       ) last`,
      [organizationId, streamIds],
    );
    return (await this.inLog(rows)).reduce((last, { position }) => Math.max(last, Number(position)), 0);
  }

  /** The streams that hold these unique keys, by the key in hexadecimal. */
  async findOwners(organizationId: string, keys: readonly Buffer[]): Promise<Map<string, string>> {
    const rows = await this.source.query<{ key: Buffer; stream_id: string }[]>(
      'SELECT key, stream_id FROM unique_keys WHERE organization_id = $1 AND key = ANY ($2)',
      [organizationId, keys],
    );
    return new Map(rows.map(({ key, stream_id }) => [key.toString('hex'), stream_id]));
  }

  /** Which of these are streams of this type, whatever became of their records. */
  async findStreams(
    organizationId: string,
    streamType: string,
    ids: readonly string[],
  ): Promise<Set<string>> {
    const rows = await this.source.query<{ stream_id: string; position: string }[]>(
      `SELECT stream_id, position FROM events
       WHERE organization_id = $1 AND stream_id = ANY ($2::uuid[]) AND version = 1 AND stream_type = $3`,
      [organizationId, ids, streamType],
    );
    return new Set((await this.inLog(rows)).map(({ stream_id }) => stream_id));
  }

  /** What a request with this idempotency key answered, if there was one. */
  async findIdempotent(
    organizationId: string,
    key: Buffer,
  ): Promise<{ fingerprint: Buffer; result: JsonObject } | undefined> {
    const [row] = await this.source.query<{ fingerprint: Buffer; result: JsonObject }[]>(
      'SELECT fingerprint, result FROM idempotency_keys WHERE organization_id = $1 AND key = $2',
      [organizationId, key],
    );
    return row;
  }

  /** Keeps a figure with a used idempotency key, unless there is one. @returns the one that is kept. */
  async settleFigure(organizationId: string, key: Buffer, figure: number): Promise<number> {
    const [[row]] = await this.source.query<[{ figure: number }[], number]>(
      `UPDATE idempotency_keys SET result = jsonb_build_object('figure', $3::bigint) || result
       WHERE organization_id = $1 AND key = $2 RETURNING result->'figure' AS figure`,
      [organizationId, key, figure],
    );
    return row?.figure ?? figure;
  }

  /** Drops idempotency keys older than this many hours. @returns how many. */
  async forgetIdempotencyKeys(olderThanHours: number): Promise<number> {
    const [, count] = await this.source.query<[unknown, number]>(
      `DELETE FROM idempotency_keys WHERE recorded_at < clock_timestamp() - make_interval(hours => $1)`,
      [olderThanHours],
    );
    return count;
  }

  /** Opens the keyring for this database. @returns why it cannot be used here: what was encrypted could not be read. */
  async openKeyring(): Promise<KeyringFault | undefined> {
    await this.source.query(
      'INSERT INTO key_check (check_value) VALUES ($1) ON CONFLICT (single) DO NOTHING',
      [this.keyring.firstCheck.check_value],
    );
    // Whoever replaces the master holds the row until all who serve are known to have the next one.
    const [row] = await this.source.query<KeyCheck[]>('SELECT * FROM key_check FOR SHARE');
    return this.keyring.open(row!);
  }

  /**
   * Events of rows that the caller has read, in the newest shape; what is damaged stays as it is (`isKnown`).
   *
   * @throws NewerEvent where one has a shape that this version of the program does not know.
   */
  read<Event extends DomainEvent>(rows: EventRow[]): RecordedEvent<Event>[] {
    return this.decrypt<Event>(rows).map((event) => {
      const { type, schema, data, personal = null } = event;
      if (schema <= this.readSchema(type) && (!this.upcasters[type] || !isObject(data))) return event;
      const upcasted = { ...event, ...upcast(this.upcasters, type, schema, { data, personal }) };
      const key = this.subjectKeys.get(event);
      if (key) this.subjectKeys.set(upcasted, key);
      return upcasted;
    });
  }

  /** The last schema of a type that this version of the program reads. */
  readSchema(type: string): number {
    return readSchema(this.upcasters, type);
  }

  /**
   * Of rows that the caller has read those in shapes that this version of the program knows, and the first of the others: of a
   * newer shape, or damaged.
   */
  readable(rows: EventRow[]): { events: RecordedEvent[]; left: EventRow | undefined } {
    const isLeft = ({ type, schema, data }: EventRow) => schema > this.readSchema(type) || !isObject(data);
    const left = rows.find(isLeft);
    return { events: this.read(left ? rows.filter((row) => !isLeft(row)) : rows), left };
  }

  /** For events with personal data that this store has read. */
  readonly seal: Seal = (event, name, value) => {
    const key = this.subjectKeys.get(event);
    if (!key) throw new Error(`The event at position ${event.position} has no personal data to seal.`);
    return sealValue(key, name, value);
  };

  /** What opens the values that were sealed, by their persons; nothing does for those who were erased. */
  async unseal(
    organizationId: string,
    subjectIds: readonly string[],
  ): Promise<Map<string, (name: string, sealed: Buffer) => string>> {
    if (subjectIds.length === 0) return new Map();
    const rows = await queryInTurn<{ subject_id: string; wrapped_key: Buffer }>(
      // A single record is no more work than the question whether the replica has it.
      subjectIds.length === 1 ? this.source : this.reads,
      organizationId,
      'SELECT subject_id, wrapped_key FROM subject_keys WHERE organization_id = $1 AND subject_id = ANY ($2)',
      [organizationId, subjectIds],
    );
    return new Map(
      rows.map(({ subject_id, wrapped_key }) => {
        const key = this.keyring.unwrap(wrapped_key, subject_id);
        return [subject_id, (name: string, sealed: Buffer) => openValue(key, name, sealed)];
      }),
    );
  }

  /**
   * The same in the shape in which they were stored, for auditors: the digests cover that. Personal data that
   * somebody has changed are null here, so that the history can be read where it is to be proved wrong.
   */
  private readStored(rows: EventRow[]): RecordedEvent[] {
    return this.decrypt(rows, () => null);
  }

  /** @param unreadable what personal data are taken for that do not open; throws when left out. */
  private decrypt<Event extends DomainEvent>(
    rows: EventRow[],
    unreadable?: () => null,
  ): RecordedEvent<Event>[] {
    const keys = new Map<string, Buffer>();
    return rows.map((row) => {
      let personal: JsonObject | null = null;
      let key: Buffer | undefined;
      if (row.personal && row.subject_id && row.wrapped_key) {
        try {
          key = keys.get(row.subject_id);
          if (!key) keys.set(row.subject_id, (key = this.keyring.unwrap(row.wrapped_key, row.subject_id)));
          personal = decryptPersonal(key, row.personal, row.event_id);
        } catch (error) {
          if (!unreadable) throw error;
          personal = unreadable();
        }
      }
      const event: RecordedEvent = {
        position: Number(row.position),
        organizationId: row.organization_id,
        streamType: row.stream_type,
        streamId: row.stream_id,
        version: row.version,
        eventId: row.event_id,
        type: row.type,
        schema: row.schema,
        data: row.data,
        personal,
        subjectId: row.subject_id,
        encryptedPersonal: row.personal,
        metadata: row.metadata,
        recordedAt: row.recorded_at,
        digest: row.digest,
      };
      if (personal && key) this.subjectKeys.set(event, key);
      // The store does not know its callers' events; what they appended to a stream is what they read.
      return event as RecordedEvent<Event>;
    });
  }
}

/**
 * No join: of an organization that PostgreSQL's statistics do not know yet it expects one key, and would read all
 * keys of the organization again for each event. Exported so that a test can EXPLAIN it.
 */
export const EVENTS_WITH_KEYS = `
  SELECT e.*, (
    SELECT k.wrapped_key FROM subject_keys k
    WHERE k.organization_id = e.organization_id AND k.subject_id = e.subject_id
  ) AS wrapped_key
  FROM events e`;

/** Events of one page, and bytes of their JSON: what is sent at once is bounded, whatever is stored. */
const PAGE = 1_000;
const PAGE_BYTES = 1024 * 1024;
/** Events that are read along with a snapshot. There is seldom one; 16 with all they may hold are 4 MiB. */
const MOST_ALONG = 16;
const MOST_ALONG_MANY = 2;

type PageRow = EventRow & { wanted: string };

/** Whether a page ended because of its bytes. */
function isCut(rows: readonly PageRow[]): boolean {
  return rows.length > 0 && rows.length < Number(rows[0]!.wanted);
}

/**
 * SQL: the first of these events that have `PAGE_BYTES` together, at least one. Their sizes are known only after
 * reading them (pg_column_size is that of the compressed form, a ninetieth at worst), so they are read one after the
 * other until it is enough, and nothing beyond: a sum over all of them would read a page of 1,000 to answer four.
 *
 * @param positions SELECT of their positions in their order, with a LIMIT; the organization is its first parameter.
 */
function firstBytes(positions: string): string {
  const size = '(octet_length(e.data::text) + coalesce(octet_length(e.personal), 0))::bigint';
  return `
    WITH RECURSIVE wanted AS MATERIALIZED (SELECT array_agg(position) AS positions FROM (${positions}) found),
    page AS (
      SELECT 1 AS place, e.position, ${size} AS bytes
      FROM events e WHERE e.organization_id = $1 AND e.position = (SELECT positions[1] FROM wanted)
      UNION ALL
      SELECT p.place + 1, e.position, p.bytes + ${size}
      FROM page p JOIN events e ON e.organization_id = $1 AND e.position = (SELECT positions FROM wanted)[p.place + 1]
      WHERE p.bytes < ${PAGE_BYTES}
    )
    SELECT e.*, (SELECT cardinality(positions) FROM wanted) AS wanted
    FROM page p CROSS JOIN LATERAL (
      ${EVENTS_WITH_KEYS} WHERE e.organization_id = $1 AND e.position = p.position
    ) e ORDER BY p.place`;
}

const STREAM_PAGE = firstBytes(`
  SELECT e.position FROM events e
  WHERE e.organization_id = $1 AND e.stream_id = $2 AND e.version > $5
    AND e.version <= coalesce($3, e.version) AND e.position <= coalesce($4, e.position)
  ORDER BY e.version LIMIT $6`);

/** A stream as its read model has it and as its events go on from there. */
export type StreamNow<Event extends DomainEvent> = {
  snapshot: { version: number; createdAt: Date; updatedAt: Date; state: Json } | undefined;
  events: RecordedEvent<Event>[];
  /** False where there may be more events. */
  isWhole: boolean;
};

type SnapshotRow = {
  id: string;
  snapshot_version: number | null;
  created_at: Date | null;
  updated_at: Date | null;
  /** In the first row of each stream. */
  state: string | null;
};

/** Snapshots and events in one statement see the same moment: no event is missed between the two. */
function streamsNow(snapshots = NO_SNAPSHOTS): string {
  return `
    WITH snapshot AS MATERIALIZED (${snapshots})
    SELECT k.id, s.version AS snapshot_version, s.created_at, s.updated_at, along.*,
      CASE WHEN along.version IS NULL OR along.version = s.version + 1 THEN s.state END AS state
    FROM unnest($2::uuid[]) AS k(id) LEFT JOIN snapshot s ON s.id = k.id LEFT JOIN LATERAL (
      ${EVENTS_WITH_KEYS}
      WHERE e.organization_id = $1 AND e.stream_id = k.id AND e.version > coalesce(s.version, 0)
      ORDER BY e.version LIMIT $3
    ) along ON true
    ORDER BY k.id, along.version`;
}

const NO_SNAPSHOTS = `SELECT NULL::uuid AS id, 0 AS version, now() AS created_at, now() AS updated_at, '' AS state WHERE false`;

/** How far a stream is read. */
export type Until = { version?: number; moment?: Date; position?: number };

/** The polling query: exported so that a test can EXPLAIN exactly what runs. */
export const READ_ALL = `${EVENTS_WITH_KEYS}
  WHERE e.position > $1 AND e.position <= $2 AND ($4::text[] IS NULL OR e.type = ANY ($4))
  ORDER BY e.position LIMIT $3`;

const PROBE_METADATA: Metadata = { actor: { type: 'system', id: null }, requestId: 'probe' };
const TAKE_ROOM = [
  `SET LOCAL work_mem = '64kB'`,
  `SELECT count(*) FROM (SELECT md5(n::text) AS text FROM generate_series(1, 30000) n ORDER BY text OFFSET 0) sorted`,
];

function codeOf(error: unknown): string | undefined {
  return error instanceof QueryFailedError ? (error.driverError as { code?: string }).code : undefined;
}

/** Two processes made the same new stream at once: the unique index let one through. */
function isStreamRace(error: unknown): boolean {
  return (
    error instanceof Error &&
    'driverError' in error &&
    error.driverError instanceof Error &&
    'code' in error.driverError &&
    error.driverError.code === '23505'
  );
}
