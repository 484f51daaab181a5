import { type Sql } from '#libs/database';
import {
  type Batch,
  ENDINGS,
  MOST_SUCCESSIONS,
  newBatch,
  SUCCESSION,
  type Succession,
  SUCCESSIONS_OF,
} from '#libs/verify';
import { STORED_EVENT } from './stored-events.js';

const PAGE = 500;

/** `last`: the last position, if there may be more events. */
type Page = { events: string[]; last: string | undefined };

/** Checks stored events one by one, here or in another thread. */
export type CheckStored = (events: readonly string[]) => Batch | Promise<Batch>;

/** A snapshot of an organization's stored events. */
export class EventsTable {
  private constructor(
    private readonly sql: Sql,
    private readonly organizationId: string,
    /** Events committed later have higher positions. */
    private readonly horizon: string,
  ) {}

  static async of(sql: Sql, organizationId: string): Promise<EventsTable> {
    const [row] = await sql.query<{ horizon: string }[]>('SELECT event_horizon() AS horizon');
    return new EventsTable(sql, organizationId, row!.horizon);
  }

  /**
   * Reads the events in the order of their positions and checks them one by one. It starts at the lowest number
   * a row can have.
   *
   * @param ahead pages in progress at the same time.
   */
  async *batches(check: CheckStored, ahead: number): AsyncGenerator<Batch> {
    const underWay: (Batch | Promise<Batch>)[] = [];
    for (let next: Promise<Page> | undefined = this.page(null); next;) {
      const { events, last }: Page = await next;
      // Reads the next page while this one is checked.
      next = last === undefined ? undefined : this.page(last);
      // A caller that stops early does not await it.
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

  /**
   * An event above the last allocated position. Events between the horizon and that position may still be
   * uncommitted.
   */
  private async *beyond(): AsyncGenerator<Batch> {
    const [row] = await this.sql.query<{ position: string; last: string }[]>(
      `SELECT position, (SELECT last_position()) AS last FROM events
       WHERE organization_id = $1 AND position > (SELECT last_position()) ORDER BY position LIMIT 1`,
      [this.organizationId],
    );
    if (!row) return;
    const reason = `The event at position ${row.position} was inserted: the last position ever allocated is ${row.last}.`;
    yield { ...newBatch(0), mistake: { position: Number(row.position), code: 'late', reason } };
  }

  /** Returns the subjects whose keys an event after the horizon destroyed. */
  async endedLater(subjectIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.sql.query<{ stream_id: string }[]>(
      `SELECT stream_id FROM events
       WHERE organization_id = $1 AND stream_id = ANY ($2::uuid[]) AND type = ANY ($3) AND position > $4`,
      [this.organizationId, subjectIds, [...ENDINGS], this.horizon],
    );
    return new Set(rows.map(({ stream_id }) => stream_id));
  }

  /** Returns the first of these subjects that has a key; undefined if none has one. */
  async firstWithKey(subjectIds: readonly string[]): Promise<string | undefined> {
    const [row] = await this.sql.query<{ subject_id: string }[]>(
      `SELECT subject_id FROM subject_keys
       WHERE organization_id = $1 AND subject_id = ANY ($2::uuid[]) ORDER BY subject_id LIMIT 1`,
      [this.organizationId, subjectIds],
    );
    return row?.subject_id;
  }
}

/** The key rotations in the stored history. */
export async function successionsOfDatabase(sql: Sql, organizationId: string): Promise<Succession[]> {
  const rows = await sql.query<(Omit<Succession, 'position'> & { position: string })[]>(
    `SELECT position, data->'from' AS from, data->'to' AS to, data->'signature' AS signature FROM events
     WHERE organization_id = $1 AND stream_type = $2 AND type = $3 ORDER BY position LIMIT ${MOST_SUCCESSIONS}`,
    [organizationId, SUCCESSIONS_OF, SUCCESSION],
  );
  return rows.map((row) => ({ ...row, position: Number(row.position) }));
}
