import { type Sql } from '#libs/database';

/**
 * Cursors of webhooks beyond the end of the history, which would skip events that do not exist yet.
 *
 * @returns what is wrong, in one sentence; undefined if nothing is.
 */
export async function findCursorsBeyondEnd(sql: Sql): Promise<string | undefined> {
  const [row] = await sql.query<{ organization_id: string; webhook_id: string }[]>(
    'SELECT organization_id, webhook_id FROM webhook_cursors WHERE position > last_position() LIMIT 1',
  );
  return (
    row &&
    `The cursor of webhook ${row.webhook_id} of organization ${row.organization_id} is beyond the history.`
  );
}
