import { type Sql } from '#libs/database';
import { broadcasts } from './broadcasts.js';

/** Broadcasts per query. Each of their recipients is read. */
const PAGE = 20;

/** The booleans are null if sending has not started. */
type Row = {
  organization_id: string;
  id: string;
  are_kept: boolean | null;
  are_other: boolean | null;
  have_other_outcome: boolean | null;
  have_other_figures: boolean | null;
};

/**
 * Compares the recipients of broadcasts with the digest in `BroadcastStarted`, their outcomes with the figures in `BroadcastSent`, and
 * the figures that users see with the recipients.
 *
 * @param days after which recipients are deleted; 0: never.
 * @returns what is wrong, in one sentence without personal data; undefined if nothing is.
 */
export async function findAlteredRecipients(sql: Sql, days: number): Promise<string | undefined> {
  const wrong: Row[] = [];
  let count = 0;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows = await sql.query<Row[]>(COMPARED, [after, PAGE, days]);
    const found = rows.filter(
      (row) => row.are_kept && [row.are_other, row.have_other_outcome, row.have_other_figures].includes(true),
    );
    count += found.length;
    wrong.push(...found.slice(0, 1 - wrong.length));
    if (rows.length < PAGE) break;
    after = rows.at(-1)!.id;
  }
  const [first] = wrong;
  if (!first) return undefined;
  const what = first.are_other
    ? 'are not those that the history recorded when sending started'
    : first.have_other_outcome
      ? 'have different outcomes from those that the history recorded when sending ended'
      : 'have different outcomes from those in its figures';
  const more = count > 1 ? `, and of ${count - 1} more broadcasts` : '';
  return `The recipients of broadcast ${first.id} of organization ${first.organization_id}${more} ${what}.`;
}

// Recipients are deleted after a number of days, so older ones are left out, with an hour to spare.
const COMPARED = `
  SELECT b.organization_id, b.id,
    ($3 = 0 OR started.recorded_at > clock_timestamp() - make_interval(days => $3) + interval '1 hour') AS are_kept,
    now.recipients <> started.recipients OR now.digest <> started.digest AS are_other,
    ended.type = 'BroadcastSent' AND now.figures <> ended.data AS have_other_outcome,
    started.sending_id IS NOT NULL AND now.counted IS DISTINCT FROM shown.counted AS have_other_figures
  FROM (SELECT organization_id, id FROM ${broadcasts.table} WHERE id > $1 ORDER BY id LIMIT $2) b
  LEFT JOIN LATERAL (
    SELECT (e.data->>'recipients')::int AS recipients, e.data->>'digest' AS digest, e.data->>'sendingId' AS sending_id,
      e.recorded_at
    FROM events e
    WHERE e.organization_id = b.organization_id AND e.stream_id = b.id AND e.type = 'BroadcastStarted'
    ORDER BY e.version DESC LIMIT 1
  ) started ON true
  LEFT JOIN LATERAL (
    SELECT e.type, e.data FROM events e
    WHERE e.organization_id = b.organization_id AND e.stream_id = b.id
      AND e.type IN ('BroadcastStarted', 'BroadcastRetried', 'BroadcastSent')
    ORDER BY e.version DESC LIMIT 1
  ) ended ON true
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS recipients,
      encode(sha256(convert_to(coalesce(string_agg(r.contact_id || E'\\n', '' ORDER BY r.contact_id), ''), 'UTF8')), 'hex') AS digest,
      jsonb_build_object(
        'sent', count(*) FILTER (WHERE status = 'SENT'), 'failed', count(*) FILTER (WHERE status = 'FAILED'),
        'skipped', count(*) FILTER (WHERE status = 'SKIPPED'), 'inDoubt', count(*) FILTER (WHERE status = 'IN_DOUBT')
      ) AS figures,
      ARRAY[count(*), count(*) FILTER (WHERE status = 'SENT'), count(*) FILTER (WHERE status = 'FAILED'),
        count(*) FILTER (WHERE status = 'SKIPPED'), count(*) FILTER (WHERE status = 'IN_DOUBT'),
        count(bounced_at), count(complained_at), count(unsubscribed_at)] AS counted
    FROM broadcast_recipients r WHERE r.sending_id = started.sending_id::uuid
  ) now
  LEFT JOIN LATERAL (
    SELECT ARRAY[total, sent, failed, skipped, in_doubt, bounced, complained, unsubscribed]::bigint[] AS counted
    FROM broadcast_sendings s WHERE s.id = started.sending_id::uuid AND s.organization_id = b.organization_id
  ) shown ON true
  ORDER BY b.id`;
