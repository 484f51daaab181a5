import { type Sql } from '#libs/database';
import { broadcasts } from '../broadcasts/index.js';
import { petitions } from '../petitions/index.js';
import { posts } from '../posts/index.js';

/**
 * Compares the timers that close petitions, publish posts and start broadcasts with the times in these records.
 *
 * @returns what is wrong, in one sentence; undefined if nothing is.
 */
export async function findAlteredTimers(sql: Sql): Promise<string | undefined> {
  const [row] = await sql.query<{ organization_id: string; id: string; what: string }[]>(ALTERED);
  return (
    row &&
    `The timer that ${row.what} ${row.id} of organization ${row.organization_id} does not have the time in the history.`
  );
}

// A subscription sets the timer after the event, and the timer's work deletes it. A failed attempt moves next_at.
const ALTERED = `
  SELECT r.organization_id, r.id, r.what FROM (
    SELECT 'petition-end' AS timer, 'closes petition' AS what, organization_id, id, updated_at, state->>'closesAt' AS at
    FROM ${petitions.table} WHERE status = 'PUBLISHED' AND state->>'closesAt' IS NOT NULL
    UNION ALL SELECT 'post-publication', 'publishes post', organization_id, id, updated_at, state->>'publishAt'
    FROM ${posts.table} WHERE state->>'publishAt' IS NOT NULL
    UNION ALL SELECT 'broadcast-start', 'starts broadcast', organization_id, id, updated_at, state->>'sendAt'
    FROM ${broadcasts.table} WHERE status = 'SCHEDULED'
  ) r
  WHERE r.updated_at < clock_timestamp() - interval '1 hour' AND r.at::timestamptz > clock_timestamp() + interval '1 hour'
    AND NOT EXISTS (
      SELECT FROM timers t WHERE t.timer = r.timer AND t.id = r.id AND t.organization_id = r.organization_id
        AND (t.due_at, t.next_at) = (r.at::timestamptz, r.at::timestamptz))
  LIMIT 1`;
