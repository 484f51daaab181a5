import { type Sql } from '#libs/database';
import {
  type Batch,
  ENDINGS,
  MOST_SUCCESSIONS,
  SUCCESSION,
  type Succession,
  SUCCESSIONS_OF,
} from '#libs/verify';
import { checkStored, STORED_EVENT } from './stored-events.js';

const PAGE = 500;

/** `last`: the last position, if there may be more events. */
type Page = { events: string[]; last: string | undefined };

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

  /** Reads the events in the order of their positions, from the lowest number a row can have, and checks them one by one. */
  async *batches(): AsyncGenerator<Batch> {
    for (let next: Promise<Page> | undefined = this.page(null); next;) {
      const { events, last }: Page = await next;
      // Reads the next page while this one is checked.
      next = last === undefined ? undefined : this.page(last);
      // A caller that stops early does not await it.
      next?.catch(() => undefined);
      yield checkStored(events);
    }
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
    yield { events: [], mistake: { position: Number(row.position), code: 'late', reason } };
  }

  /** Returns those of these subjects whose keys an event after the horizon destroyed. */
  async endedLater(subjectIds: Iterable<string>): Promise<Set<string>> {
    const ended = new Set<string>();
    for (const some of pagesOf(subjectIds)) {
      const rows = await this.sql.query<{ stream_id: string }[]>(
        `SELECT stream_id FROM events
         WHERE organization_id = $1 AND stream_id = ANY ($2::uuid[]) AND type = ANY ($3) AND position > $4`,
        [this.organizationId, some, [...ENDINGS], this.horizon],
      );
      for (const { stream_id } of rows) ended.add(stream_id);
    }
    return ended;
  }

  /** Returns the first of these subjects that has a key; undefined if none has one. */
  async firstWithKey(subjectIds: Iterable<string>): Promise<string | undefined> {
    for (const some of pagesOf(subjectIds)) {
      const [row] = await this.sql.query<{ subject_id: string }[]>(
        `SELECT subject_id FROM subject_keys
         WHERE organization_id = $1 AND subject_id = ANY ($2::uuid[]) ORDER BY subject_id LIMIT 1`,
        [this.organizationId, some],
      );
      if (row) return row.subject_id;
    }
    return undefined;
  }
}

/** Ids to look up per query. */
const SUBJECTS = 1_000;

function* pagesOf(ids: Iterable<string>): Generator<string[]> {
  let page: string[] = [];
  for (const id of ids) {
    page.push(id);
    if (page.length < SUBJECTS) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
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
