import { type Sql } from '#libs/database';

/**
 * Cursors beyond the end of the history, which would skip events that do not exist yet.
 *
 * @returns what is wrong, in one sentence; undefined if nothing is.
 */
export async function findCursorsBeyondEnd(sql: Sql): Promise<string | undefined> {
  const [row] = await sql.query<{ whose: string }[]>(BEYOND);
  return row && `The cursor of ${row.whose} is beyond the history.`;
}

const BEYOND = `
  SELECT whose FROM (
    SELECT format('webhook %s of organization %s', webhook_id, organization_id) AS whose, position FROM webhook_cursors
    UNION ALL SELECT 'all webhooks', position FROM webhook_news
    UNION ALL SELECT format('the subscription %s', name), position FROM subscriptions
    UNION ALL SELECT format('the projection %s %s', projection, version), position FROM checkpoints
    UNION ALL SELECT 'sealing', position FROM sealing
  ) AS cursor WHERE position > last_position() LIMIT 1`;
