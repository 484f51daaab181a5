import { type Sql } from '#libs/database';
import { type Batch, ENDINGS, newBatch } from './batch.js';
import { STORED_EVENT } from './stored-events.js';

const PAGE = 500;

/** The last position, where there may be more. */
type Page = { events: string[]; last: string | undefined };

/** Checks stored events, each by itself: here, or in another thread. */
export type CheckStored = (events: readonly string[]) => Batch | Promise<Batch>;

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

  /**
   * In the order of their positions, each checked by itself; from the lowest number on that a row can have.
   *
   * @param ahead pages that are under way at once.
   */
  async *batches(check: CheckStored, ahead: number): AsyncGenerator<Batch> {
    const underWay: (Batch | Promise<Batch>)[] = [];
    for (let next: Promise<Page> | undefined = this.page(null); next;) {
      const { events, last }: Page = await next;
      // Read while this one is checked.
      next = last === undefined ? undefined : this.page(last);
      // Who stops in between waits for nothing.
      next?.catch(() => undefined);
      underWay.push(check(events));
      if (underWay.length >= ahead) yield await underWay.shift()!;
    }
    for (const batch of underWay) yield await batch;
    yield* this.beyond();
  }

  private async page(after: string | null): Promise<Page> {
    const rows = await this.sql.query<{ position: string; event: string }[]>(
      `SELECT e.position, ${STORED_EVENT} AS event
       FROM events e WHERE organization_id = $1 AND position <= $2 ${after === null ? '' : 'AND position > $3'}
       ORDER BY position LIMIT ${PAGE}`,
      [this.organizationId, this.horizon, ...(after === null ? [] : [after])],
    );
    const last = rows.length < PAGE ? undefined : rows.at(-1)!.position;
    return { events: rows.map(({ event }) => event), last };
  }

  /** What nobody was ever given; between the horizon and the last position lies what is on its way. */
  private async *beyond(): AsyncGenerator<Batch> {
    const [row] = await this.sql.query<{ position: string; last: string }[]>(
      `SELECT position, (SELECT last_position()) AS last FROM events
       WHERE organization_id = $1 AND position > (SELECT last_position()) ORDER BY position LIMIT 1`,
      [this.organizationId],
    );
    if (!row) return;
    const reason = `The event at position ${row.position} was inserted: the last position ever allocated is ${row.last}.`;
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
