import { type Sql } from '#libs/database';
import { addEvent, type Batch, ENDINGS, newBatch } from './batch.js';
import { canonical, digestOf } from './digest.js';

type Row = {
  position: string;
  organization_id: string;
  stream_type: string;
  stream_id: string;
  version: number;
  event_id: string;
  type: string;
  schema: number;
  data: unknown;
  /** base64 */
  personal: string | null;
  subject_id: string | null;
  metadata: unknown;
  /** Milliseconds since 1970; null where it is infinite. */
  recorded_at: number | null;
  /** Hexadecimal. */
  digest: string;
  is_unreadable: boolean;
};

const PAGE = 1_000;

/** The stored events of an organization as they are at this moment. */
export class EventsTable {
  private constructor(
    private readonly sql: Sql,
    private readonly organizationId: string,
    /** No event that is not there yet will appear at or below it. */
    private readonly horizon: string,
  ) {}

  static async of(sql: Sql, organizationId: string): Promise<EventsTable> {
    const [row] = await sql.query<{ horizon: string }[]>('SELECT event_horizon() AS horizon');
    return new EventsTable(sql, organizationId, row!.horizon);
  }

  /** In the order of their positions, each checked by itself; from the lowest number on that a row can have. */
  async *batches(): AsyncGenerator<Batch> {
    let page = this.page(null);
    for (let rows; (rows = await page).length > 0;) {
      const isLast = rows.length < PAGE;
      // Read while this one is checked.
      page = isLast ? Promise.resolve([]) : this.page(rows.at(-1)!.position);
      // Who stops in between waits for nothing.
      page.catch(() => undefined);
      const batch = check(rows);
      yield batch;
    }
    yield* this.beyond();
  }

  private page(after: string | null): Promise<Row[]> {
    return this.sql.query<Row[]>(
      `SELECT position, organization_id, stream_type, stream_id, version, event_id, type, schema, data,
              translate(encode(personal, 'base64'), E'\\n', '') AS personal, subject_id, metadata,
              CASE WHEN isfinite(recorded_at) THEN (extract(epoch FROM recorded_at) * 1000)::float8 END AS recorded_at,
              encode(digest, 'hex') AS digest,
              personal IS NOT NULL AND NOT EXISTS (
                SELECT FROM subject_keys k
                WHERE k.organization_id = e.organization_id AND k.subject_id = e.subject_id) AS is_unreadable
       FROM events e WHERE organization_id = $1 AND position <= $2 ${after === null ? '' : 'AND position > $3'}
       ORDER BY position LIMIT ${PAGE}`,
      [this.organizationId, this.horizon, ...(after === null ? [] : [after])],
    );
  }

  /** What nobody was ever given; between the horizon and the last position lies what is on its way. */
  private async *beyond(): AsyncGenerator<Batch> {
    const [row] = await this.sql.query<{ position: string; last: string }[]>(
      `SELECT position, (SELECT last_position()) AS last FROM events
       WHERE organization_id = $1 AND position > (SELECT last_position()) ORDER BY position LIMIT 1`,
      [this.organizationId],
    );
    if (!row) return;
    const reason = `The event at position ${row.position} was put in: position ${row.last} is the last that was given to any.`;
    yield { ...newBatch(0), mistake: { position: Number(row.position), reason } };
  }

  /** Of these subjects those whose keys an event behind the horizon destroyed. */
  async endedLater(subjectIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.sql.query<{ stream_id: string }[]>(
      `SELECT stream_id FROM events
       WHERE organization_id = $1 AND stream_id = ANY ($2::uuid[]) AND type = ANY ($3) AND position > $4`,
      [this.organizationId, subjectIds, [...ENDINGS], this.horizon],
    );
    return new Set(rows.map(({ stream_id }) => stream_id));
  }
}

/** The events up to the first that is wrong by itself. */
function check(rows: readonly Row[]): Batch {
  const batch = newBatch(rows.length);
  for (const row of rows) {
    const position = Number(row.position);
    const reason = whatIsWrong(row, position);
    if (reason !== undefined) return { ...batch, mistake: { position, reason } };
    const event = {
      ...{ position, previousPosition: 0, streamId: row.stream_id, subjectId: row.subject_id },
      ...{ version: row.version, type: row.type, digest: row.digest },
    };
    addEvent(batch, event, row.recorded_at!, row.is_unreadable);
  }
  return batch;
}

function whatIsWrong(row: Row, position: number): string | undefined {
  if (position < 1) return `The event at position ${row.position} was put in: positions begin with 1.`;
  if (!Number.isSafeInteger(row.recorded_at)) return `The event at position ${position} has no time.`;
  const content = {
    eventId: row.event_id,
    organizationId: row.organization_id,
    encryptedPersonal: row.personal,
    schema: row.schema,
    streamId: row.stream_id,
    streamType: row.stream_type,
    subjectId: row.subject_id,
    type: row.type,
    version: row.version,
  };
  const digest = digestOf(content, canonical(row.data), canonical(row.metadata), row.recorded_at!);
  if (digest === row.digest) return undefined;
  return `The event at position ${position} has a digest that is not its content’s.`;
}
