import { type DataSource } from 'typeorm';
import { queryWide, type Sql, type WideQuery } from '#libs/database';
import { type AppendCommand, type AppendResult } from './append.js';
import { AppendQueue } from './append-queue.js';
import {
  ABOUT,
  AT_POSITIONS,
  endsKey,
  EVENTS_WITH_KEYS,
  firstBytes,
  isCut,
  MOST_ALONG,
  MOST_ALONG_MANY,
  OF_REQUEST,
  PAGE,
  type PageRow,
  READ_ALL,
  type SnapshotRow,
  STREAM_PAGE,
  streamsNow,
  TOUCHED,
} from './event-queries.js';
import { type EventRow, EventRows, type UnreadablePersonalData } from './event-rows.js';
import { type DomainEvent, type Json, type JsonObject, type RecordedEvent } from './event.js';
import { type EventFilter, historyQuery } from './history-query.js';
import { type Keyring } from './keyring.js';
import { openValue } from './personal-data.js';
import { Pulse } from './pulse.js';
import { type Upcasters } from './upcasting.js';

/** The end of a read, inclusive: a version, a moment of recording, a position. */
export type Until = { version?: number; moment?: Date; position?: number };

/** A past state: events recorded up to the moment and stored up to the position. */
export type Past = { moment: Date; position: number };

/** A stream's snapshot from its projection, and the events after it. */
export type StreamNow<Event extends DomainEvent> = {
  snapshot: { version: number; createdAt: Date; updatedAt: Date; state: Json } | undefined;
  events: RecordedEvent<Event>[];
  /** False if more events may follow. */
  isWhole: boolean;
};

/** Idempotency keys deleted per statement. */
const DELETE_BATCH = 1_000;
/**
 * A reader with a smaller lag may skip events. Checking this many positions is far cheaper than a page of
 * each projection.
 */
const LONGEST_SKIP = 5_000;

/** The log: append-only, in a fixed global order, and the only source of truth. */
export class EventStore {
  readonly appends: AppendQueue;
  readonly rows: EventRows;
  readonly pulse: Pulse;
  /** The highest position that this process knows to be allocated. */
  private highest = 0;

  /**
   * @param reads the source for the history and for past states.
   * @param reserved a source with a free connection while all others are busy.
   */
  constructor(
    private readonly source: DataSource,
    readonly keyring: Keyring,
    upcasters: Upcasters = {},
    private readonly reads: Sql = source,
    reserved: Sql = source,
  ) {
    this.pulse = new Pulse(reserved);
    this.appends = new AppendQueue(source, keyring, upcasters, (position, command) => {
      this.allocated(position);
      this.pulse.appended(command);
    });
    this.rows = new EventRows(keyring, upcasters);
  }

  /** See `AppendQueue`. */
  append(command: AppendCommand): Promise<AppendResult> {
    return this.appends.append(command);
  }

  /** See `AppendQueue`. */
  appendIf(...[commands, check]: Parameters<AppendQueue['appendIf']>): ReturnType<AppendQueue['appendIf']> {
    return this.appends.appendIf(commands, check);
  }

  /**
   * One stream's events, oldest first, with personal data decrypted unless its subject was erased. Returns all events
   * together. If there may be many, use `readStreamPages`.
   *
   * @param until only events up to this version, moment of recording and position (inclusive).
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

  /** The same in pages of `PAGE_BYTES`. @param after only events after this version. */
  async *readStreamPages<Event extends DomainEvent>(
    organizationId: string,
    streamId: string,
    { version, moment, position, after = 0 }: Until & { after?: number },
  ): AsyncGenerator<RecordedEvent<Event>[]> {
    for (let last = after, more = true; more;) {
      const values = [organizationId, streamId, version ?? null, position ?? null, last, PAGE];
      // A past state is read from the first event, so the read may be long. Reads of commands are bounded.
      const rows = await (moment
        ? queryWide<PageRow>(this.reads, organizationId, 'page', STREAM_PAGE, values)
        : this.source.query<PageRow[]>(STREAM_PAGE, values));
      // Stop at the first later event instead of filtering by time. Versions before 0.3.0 may have stored decreasing
      // times in a stream, and an event is never read without its predecessors.
      const later = moment ? rows.findIndex(({ recorded_at }) => recorded_at > moment) : -1;
      const wanted = await this.committed(later === -1 ? rows : rows.slice(0, later));
      if (wanted.length === 0) return;
      yield this.rows.read<Event>(wanted);
      last = wanted.at(-1)!.version;
      more = later === -1 && (isCut(rows) || rows.length === PAGE);
    }
  }

  /**
   * The current state of streams, in one statement: each one's snapshot from its projection, and the events that the
   * projection has not processed yet, `MOST_ALONG` at most.
   *
   * @param snapshots the SELECT of `Snapshots`. Without it, streams are read from their first event.
   * @param sql the primary. A replica suffices for past states.
   */
  async readStreamsNow<Event extends DomainEvent>(
    organizationId: string,
    streamIds: readonly string[],
    snapshots?: string,
    sql: Sql = this.source,
  ): Promise<Map<string, StreamNow<Event>>> {
    const along = streamIds.length === 1 ? MOST_ALONG : MOST_ALONG_MANY;
    const values = [organizationId, streamIds, along];
    const rows = await sql.query<SnapshotRow[]>(streamsNow(snapshots), values);
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
    const ours = await this.committed(found);
    for (const event of this.rows.read<Event>(ours)) {
      const stream = streams.get(event.streamId)!;
      stream.events.push(event);
      stream.isWhole = stream.events.length < along && ours.length === found.length;
    }
    return streams;
  }

  /** The first events of streams, for past states: see `readStreamsNow`. */
  readStreamsThen<Event extends DomainEvent>(
    organizationId: string,
    streamIds: readonly string[],
  ): Promise<Map<string, StreamNow<Event>>> {
    return this.readStreamsNow(organizationId, streamIds, undefined, this.reads);
  }

  /**
   * The position up to which the log is complete: no new event will ever appear at or below it. This holds only
   * for events read in a *later* statement.
   */
  async horizon(sql: Sql = this.source): Promise<number> {
    const [row] = await sql.query<{ horizon: string }[]>('SELECT event_horizon() AS horizon');
    return this.allocated(Number(row!.horizon));
  }

  /**
   * Splits readers that are behind by whether their unread events include types that they handle. Readers that are far
   * behind always count as concerned and read pages as usual, because checking all their events would cost more.
   *
   * @returns `horizon`: the position to which the idle readers can move.
   */
  async splitByNews<Reader extends { position: number; lag: number }>(
    behind: readonly Reader[],
    handles: (reader: Reader) => readonly string[],
  ): Promise<{ concerned: Reader[]; idle: Reader[]; horizon: number }> {
    const near = behind.filter(({ lag }) => lag <= LONGEST_SKIP);
    if (near.length === 0) return { concerned: [...behind], idle: [], horizon: 0 };
    const horizon = Math.max(...near.map(({ position, lag }) => position + lag));
    const rows = await this.source.query<{ type: string }[]>(
      'SELECT DISTINCT type FROM events WHERE position > $1 AND position <= $2',
      [Math.min(...near.map(({ position }) => position)), horizon],
    );
    const types = new Set(rows.map(({ type }) => type));
    const idle = near.filter((reader) => !handles(reader).some((type) => types.has(type)));
    return { concerned: behind.filter((reader) => !idle.includes(reader)), idle, horizon };
  }

  /** The highest allocated position. Events below it may not be committed yet. */
  async lastPosition(): Promise<number> {
    const [row] = await this.source.query<{ position: string }[]>('SELECT last_position() AS position');
    return this.allocated(Number(row!.position));
  }

  /**
   * Keeps the rows at positions that the sequence has allocated. Events inserted at other positions are never
   * reached by readers of the log in order. So all reads return what is sealed, exported and verified. Queries
   * the sequence only if a row is above all known positions: doing so in each statement made reads a tenth
   * slower.
   */
  private async committed<Row extends { position: string }>(rows: Row[]): Promise<Row[]> {
    if (rows.some(({ position }) => Number(position) > this.highest)) await this.lastPosition();
    return rows.filter(({ position }) => Number(position) > 0 && Number(position) <= this.highest);
  }

  private allocated(position: number): number {
    this.highest = Math.max(this.highest, position);
    return position;
  }

  /**
   * A page of the log in its global order. Leaves out events in shapes that this version does not know, and events whose
   * personal data cannot be decrypted.
   *
   * @param after only positions above this one.
   * @param upTo only positions up to this one, which must not exceed a horizon read before.
   */
  async readAll(
    after: number,
    upTo: number,
    limit: number,
    types: readonly string[] | null = null,
    sql: Sql = this.source,
    onUnreadable: (error: UnreadablePersonalData) => void = () => undefined,
  ): Promise<RecordedEvent[]> {
    const rows = await sql.query<EventRow[]>(READ_ALL, [after, upTo, limit, types]);
    return this.rows.readable(rows, onUnreadable).events;
  }

  /**
   * The next page of events of these types: at most `limit` events and 16 MiB, but at least one.
   *
   * @returns also its `end`, the position up to which everything has been read.
   */
  async readPage(
    after: number,
    upTo: number,
    limit: number,
    types: readonly string[],
  ): Promise<{ events: RecordedEvent[]; end: number }> {
    const end = await this.pageEnd(after, upTo, limit, types);
    return { events: await this.readAll(after, end, limit, types), end };
  }

  /**
   * Rows of events at these positions, in order. Rows that this process has just stored are not read again. If one of
   * them destroyed a person's key, all are read again, so that the person's data does not stay in memory.
   */
  async recall(found: readonly { position: string; id: string }[], sql: Sql): Promise<EventRow[]> {
    const known = found.map(({ position, id }) => {
      const row = this.appends.justWritten.take(id);
      return row && { ...row, position };
    });
    const isWhole = !known.some((row) => row && endsKey(row.type));
    const missing = isWhole ? found.filter((_, n) => !known[n]) : found;
    if (missing.length === 0) return known as EventRow[];
    const read = (positions: typeof found) =>
      sql.query<EventRow[]>(AT_POSITIONS, [positions.map(({ position }) => position)]);
    const rows = await read(missing);
    if (missing === found) return rows;
    if (rows.some(({ type }) => endsKey(type))) return read(found);
    const next = rows.values();
    return known.flatMap((row) => row ?? next.next().value ?? []);
  }

  /** The end of the next page of events of these types: at most `limit` events and 16 MiB, but at least one. */
  async pageEnd(
    after: number,
    upTo: number,
    limit: number,
    types: readonly string[],
    sql: Sql = this.source,
  ): Promise<number> {
    const [row] = await sql.query<{ end: string }[]>(
      'SELECT page_end($1, $2, $3, $4, 16 * 1024 * 1024) AS end',
      [after, upTo, types, limit],
    );
    return Number(row!.end);
  }

  /**
   * An organization's history as it is stored, oldest first, with personal data decrypted unless its subject
   * was erased.
   *
   * @param range positions above `after`, up to `upTo`, which must not exceed a horizon read before.
   * @returns at most `limit` events, fewer if they exceed `PAGE_BYTES`, but at least one; and whether more follow.
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
    const events = this.rows.readStored(rows.slice(0, limit));
    return { events, hasMore: isCut(rows) || rows.length > limit };
  }

  /**
   * Where the last page of a part of the history begins, for reading it from its end.
   *
   * @param range see `readHistory`.
   * @returns the position after which the last `limit` events that match the filter begin, and their number.
   */
  async startOfLast(
    organizationId: string,
    range: { after: number; upTo: number },
    limit: number,
    filter: EventFilter = {},
  ): Promise<{ after: number; events: number }> {
    const query = await historyQuery(this.reads, organizationId, range, limit + 1, filter, 'newest');
    if (!query) return { after: range.after, events: 0 };
    const text = `SELECT e.position FROM events e ${query.text}`;
    type Row = Pick<EventRow, 'position'>;
    const rows = await queryWide<Row>(this.reads, organizationId, 'page', text, query.values);
    if (rows.length <= limit) return { after: range.after, events: rows.length };
    return { after: Number(rows[0]!.position), events: limit };
  }

  async findStored(
    organizationId: string,
    eventIds: readonly string[],
  ): Promise<ReadonlyMap<string, Pick<RecordedEvent, 'streamType' | 'streamId' | 'type'>>> {
    const rows = await this.source.query<
      { event_id: string; stream_type: string; stream_id: string; type: string }[]
    >(
      `SELECT event_id, stream_type, stream_id, type FROM events
       WHERE organization_id = $1 AND event_id = ANY ($2::uuid[])`,
      [organizationId, eventIds],
    );
    return new Map(
      rows.map(({ event_id, stream_type, stream_id, type }) => [
        event_id,
        { streamType: stream_type, streamId: stream_id, type },
      ]),
    );
  }

  async findEvent(organizationId: string, eventId: string): Promise<RecordedEvent | undefined> {
    const rows = await this.source.query<EventRow[]>(
      `${EVENTS_WITH_KEYS}
       WHERE e.organization_id = $1 AND e.event_id = $2`,
      [organizationId, eventId],
    );
    return this.rows.readStored(await this.committed(rows))[0];
  }

  /**
   * The newest events of a record, and of other records about this person, newest first.
   *
   * @param most the maximum number. Fewer are returned if they exceed `PAGE_BYTES`, but at least one.
   * @param before only events before this position.
   * @param types only events of these types.
   * @returns also whether more follow.
   */
  async readAbout(
    organizationId: string,
    recordId: string,
    most: number,
    before = Number.MAX_SAFE_INTEGER,
    types: readonly string[] | null = null,
  ): Promise<{ events: RecordedEvent[]; hasMore: boolean }> {
    const values = [organizationId, recordId, most + 1, before, types];
    const rows = await this.source.query<PageRow[]>(ABOUT, values);
    const events = this.rows.readStored(await this.committed(rows.slice(0, most)));
    return { events, hasMore: isCut(rows) || rows.length > most };
  }

  /** The first event of each type in each of these streams. It starts what later pages continue. */
  async readBeginnings(organizationId: string, streamIds: readonly string[]): Promise<RecordedEvent[]> {
    if (streamIds.length === 0) return [];
    const rows = await this.source.query<EventRow[]>(
      `${EVENTS_WITH_KEYS}
       WHERE e.organization_id = $1 AND e.position = ANY (ARRAY(
         SELECT DISTINCT ON (f.stream_id, f.type) f.position FROM events f
         WHERE f.organization_id = $1 AND f.stream_id = ANY ($2::uuid[]) AND f.position > 0
         ORDER BY f.stream_id, f.type, f.version
       ))`,
      [organizationId, streamIds],
    );
    return this.rows.readStored(await this.committed(rows));
  }

  /** The events that a request stored, oldest first: at most `limit` after this position. */
  async listOfRequest(
    organizationId: string,
    requestId: string,
    after: number,
    limit: number,
  ): Promise<Pick<RecordedEvent, 'position' | 'streamId' | 'type' | 'recordedAt'>[]> {
    const rows = await this.source.query<
      { position: string; stream_id: string; type: string; recorded_at: Date }[]
    >(OF_REQUEST, [organizationId, requestId, after, limit]);
    return (await this.committed(rows)).map(({ position, stream_id, type, recorded_at }) => ({
      position: Number(position),
      streamId: stream_id,
      type,
      recordedAt: recorded_at,
    }));
  }

  /** Which of these people have events that another request stored, in their own streams or in others. */
  async findTouched(
    organizationId: string,
    subjectIds: readonly string[],
    requestId: string,
    sql: Sql = this.source,
  ): Promise<Set<string>> {
    const rows = await sql.query<{ id: string }[]>(TOUCHED, [organizationId, subjectIds, requestId]);
    return new Set(rows.map(({ id }) => id));
  }

  /** The position of the organization's previous event; 0 if there is none. */
  async previousPosition(organizationId: string, position: number): Promise<number> {
    const [row] = await this.source.query<{ position: string }[]>(
      `SELECT position FROM events WHERE organization_id = $1 AND position > 0 AND position < $2
       ORDER BY position DESC LIMIT 1`,
      [organizationId, position],
    );
    return Number(row?.position ?? 0);
  }

  /** The highest position in these streams; 0 if none of them exists. */
  async lastPositionOf(organizationId: string, streamIds: readonly string[]): Promise<number> {
    if (streamIds.length === 0) return 0;
    const rows = await this.source.query<{ position: string }[]>(
      `SELECT last.position FROM unnest($2::uuid[]) AS s(id) CROSS JOIN LATERAL (
         SELECT e.position FROM events e WHERE e.organization_id = $1 AND e.stream_id = s.id
         ORDER BY e.version DESC LIMIT 1
       ) last`,
      [organizationId, streamIds],
    );
    return (await this.committed(rows)).reduce((last, { position }) => Math.max(last, Number(position)), 0);
  }

  /** The streams that own these unique keys, by the key in hexadecimal. */
  async findOwners(organizationId: string, keys: readonly Buffer[]): Promise<Map<string, string>> {
    if (keys.length === 0) return new Map();
    const rows = await this.source.query<{ key: Buffer; stream_id: string }[]>(
      'SELECT key, stream_id FROM unique_keys WHERE organization_id = $1 AND key = ANY ($2)',
      [organizationId, keys],
    );
    return new Map(rows.map(({ key, stream_id }) => [key.toString('hex'), stream_id]));
  }

  /** Which of these are streams of this type, even if their records have been deleted. */
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
    return new Set((await this.committed(rows)).map(({ stream_id }) => stream_id));
  }

  /** The result of the request with this idempotency key, if there was one. */
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

  /** Stores a figure with a used idempotency key, unless it already has one. @returns the stored figure. */
  async settleFigure(organizationId: string, key: Buffer, figure: number): Promise<number> {
    const [[row]] = await this.source.query<[{ figure: number }[], number]>(
      `UPDATE idempotency_keys SET result = jsonb_build_object('figure', $3::bigint) || result
       WHERE organization_id = $1 AND key = $2 RETURNING result->'figure' AS figure`,
      [organizationId, key, figure],
    );
    return row?.figure ?? figure;
  }

  /** Deletes idempotency keys older than this many hours. @returns how many. */
  async forgetIdempotencyKeys(olderThanHours: number): Promise<number> {
    let deleted = 0;
    for (;;) {
      // In batches: after a day of imports there are millions, and no statement may block others for minutes.
      const [, count] = await this.source.query<[unknown, number]>(
        `DELETE FROM idempotency_keys WHERE (organization_id, key) IN (
           SELECT organization_id, key FROM idempotency_keys
           WHERE recorded_at < clock_timestamp() - make_interval(hours => $1)
           ORDER BY recorded_at LIMIT ${DELETE_BATCH} FOR UPDATE SKIP LOCKED)`,
        [olderThanHours],
      );
      deleted += count;
      if (count < DELETE_BATCH) return deleted;
    }
  }

  /** Returns a function that opens values sealed with a person's key. */
  opener(subjectId: string, wrappedKey: Buffer): (name: string, sealed: Buffer) => string {
    const key = this.keyring.unwrap(wrappedKey, subjectId);
    return (name, sealed) => openValue(key, name, sealed);
  }
}
