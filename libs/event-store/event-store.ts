import { type DataSource } from 'typeorm';
import { queryWide, type Sql, type WideQuery } from '#libs/database';
import { type AppendCommand, type AppendResult } from './append.js';
import { AppendQueue } from './append-queue.js';
import {
  ABOUT,
  EVENTS_WITH_KEYS,
  firstBytes,
  isCut,
  MOST_ALONG,
  MOST_ALONG_MANY,
  PAGE,
  type PageRow,
  READ_ALL,
  type SnapshotRow,
  STREAM_PAGE,
  streamsNow,
} from './event-queries.js';
import { type EventRow, EventRows } from './event-rows.js';
import { type DomainEvent, type Json, type JsonObject, type RecordedEvent } from './event.js';
import { type EventFilter, historyQuery } from './history-query.js';
import { type Keyring } from './keyring.js';
import { openValue } from './personal-data.js';
import { Pulse } from './pulse.js';
import { type Upcasters } from './upcasting.js';

/** How far a stream is read. */
export type Until = { version?: number; moment?: Date; position?: number };

/** A state of the past: what was recorded up to the moment, and stored up to the position. */
export type Past = { moment: Date; position: number };

/** A stream as its read model has it and as its events go on from there. */
export type StreamNow<Event extends DomainEvent> = {
  snapshot: { version: number; createdAt: Date; updatedAt: Date; state: Json } | undefined;
  events: RecordedEvent<Event>[];
  /** False where there may be more events. */
  isWhole: boolean;
};

const FORGOTTEN_TOGETHER = 1_000;
/** Positions that are read in a fraction of the time that a page of each projection takes. */
const LONGEST_SKIP = 5_000;

/** The log: append-only, in one fixed global order, the only source of truth. */
export class EventStore {
  readonly appends: AppendQueue;
  readonly rows: EventRows;
  readonly pulse: Pulse;
  /** A position that was given out, the highest known here. */
  private given = 0;

  /**
   * @param reads where the history and pasts are read.
   * @param reserved a source with a connection free while work waits for the others.
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
      const wanted = await this.committed(later === -1 ? rows : rows.slice(0, later));
      if (wanted.length === 0) return;
      yield this.rows.read<Event>(wanted);
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
    const rows = await this.source.query<SnapshotRow[]>(streamsNow(snapshots), values);
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

  /**
   * The position up to which the log is complete: no event will ever appear at or below it that is not
   * there already. Read events in a *later* statement than this, or the promise does not hold.
   */
  async horizon(sql: Sql = this.source): Promise<number> {
    const [row] = await sql.query<{ horizon: string }[]>('SELECT event_horizon() AS horizon');
    return this.allocated(Number(row!.horizon));
  }

  /**
   * Readers of the log that are behind, by whether one of the events that they have not read concerns them. Whoever is far behind
   * reads pages as ever: to look at all of it would cost more, and must not make the others do the same.
   *
   * @returns `horizon`: up to which the idle ones can move.
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

  /** The highest position given out so far; events below it may still be on their way. */
  async lastPosition(): Promise<number> {
    const [row] = await this.source.query<{ position: string }[]>('SELECT last_position() AS position');
    return this.allocated(Number(row!.position));
  }

  /**
   * Of rows found by their streams or ids those at positions that the sequence gave. Who reads the log in order comes to no
   * other, so whoever put it there: what is answered is what is sealed, exported and verified. Asked only where a row is
   * above all that is known here to be given, since asking in each statement made it a tenth slower.
   */
  private async committed<Row extends { position: string }>(rows: Row[]): Promise<Row[]> {
    if (rows.some(({ position }) => Number(position) > this.given)) await this.lastPosition();
    return rows.filter(({ position }) => Number(position) > 0 && Number(position) <= this.given);
  }

  private allocated(position: number): number {
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
    return this.rows.readable(rows).events;
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
  ): Promise<{ events: RecordedEvent[]; end: number }> {
    const end = await this.pageEnd(after, upTo, limit, types);
    return { events: await this.readAll(after, end, limit, types), end };
  }

  /** The end of the next page of these types of events: `limit` of them at most and 16 MiB, one at least. */
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
    const events = this.rows.readStored(rows.slice(0, limit));
    return { events, hasMore: isCut(rows) || rows.length > limit };
  }

  /**
   * Where the last page of a part of the history begins, for whoever reads it from its end.
   *
   * @param range as of `readHistory`.
   * @returns the position after which there are the last `limit` events that meet the filter; and how many these are.
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

  async findEvent(organizationId: string, eventId: string): Promise<RecordedEvent | undefined> {
    const rows = await this.source.query<EventRow[]>(
      `${EVENTS_WITH_KEYS}
       WHERE e.organization_id = $1 AND e.event_id = $2`,
      [organizationId, eventId],
    );
    return this.rows.readStored(await this.committed(rows))[0];
  }

  /**
   * The newest events of a record, and those of other records that say something about this person, newest first.
   *
   * @param most as many of them, fewer where they are wide (`PAGE_BYTES`), one at least. @param before a position: only those before it.
   * @param types only these types of events.
   * @returns also whether there are more.
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

  /** The first event of each type in each of these streams: where what goes on page by page has begun. */
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
    return (await this.committed(rows)).reduce((last, { position }) => Math.max(last, Number(position)), 0);
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
    return new Set((await this.committed(rows)).map(({ stream_id }) => stream_id));
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
    let forgotten = 0;
    for (;;) {
      // Some at a time: after a day of imports there are millions, and no statement may hold up others for minutes.
      const [, count] = await this.source.query<[unknown, number]>(
        `DELETE FROM idempotency_keys WHERE (organization_id, key) IN (
           SELECT organization_id, key FROM idempotency_keys
           WHERE recorded_at < clock_timestamp() - make_interval(hours => $1)
           ORDER BY recorded_at LIMIT ${FORGOTTEN_TOGETHER} FOR UPDATE SKIP LOCKED)`,
        [olderThanHours],
      );
      forgotten += count;
      if (count < FORGOTTEN_TOGETHER) return forgotten;
    }
  }

  /** What opens the values that were sealed with a person's key. */
  opener(subjectId: string, wrappedKey: Buffer): (name: string, sealed: Buffer) => string {
    const key = this.keyring.unwrap(wrappedKey, subjectId);
    return (name, sealed) => openValue(key, name, sealed);
  }
}

/** SQL: the wrapped key to what a row holds of a person; null where that was destroyed. */
export function wrappedKeyOf(row: string, subject: string): string {
  return `(SELECT k.wrapped_key FROM public.subject_keys k
    WHERE k.organization_id = ${row}.organization_id AND k.subject_id = ${row}.${subject})`;
}
