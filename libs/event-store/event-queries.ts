import { type EventRow } from './event-rows.js';

/**
 * Events that destroy the key of their stream's subject. The verifiers have their own list. A new type also needs an index
 * like `subjects_ended_2` (migration 0044).
 */
const ENDINGS = [
  'ContactErased',
  'ApiKeyRotated',
  'ApiKeyRevoked',
  'SuppressedAddressErased',
  'SignatureConfirmed',
  'SignatureExpired',
  'SignUpConfirmed',
  'SignUpExpired',
  'InvitationRevoked',
  'MemberRemoved',
] as const;

/**
 * SQL for the wrapped key of a row's person; null if an event destroyed it. A key that someone puts back into the table,
 * for example from a backup, decrypts nothing.
 */
export function wrappedKeyOf(row: string, subject: string): string {
  return `(SELECT k.wrapped_key FROM public.subject_keys k
    WHERE k.organization_id = ${row}.organization_id AND k.subject_id = ${row}.${subject}
      AND ${isNotEnded('k')})`;
}

/** SQL condition: no event destroyed this key. Damaged events change nothing. @param key an alias of `subject_keys`. */
export function isNotEnded(key: string): string {
  return `(SELECT true FROM public.events ended
    WHERE ended.organization_id = ${key}.organization_id AND ended.stream_id = ${key}.subject_id
      AND ended.type IN (${ENDINGS.map((type) => `'${type}'`).join(', ')})
      AND jsonb_typeof(ended.data) = 'object' LIMIT 1) IS NULL`;
}

/**
 * A subquery instead of a join: for an organization missing from its statistics, PostgreSQL expects a single key, and
 * would read all keys of the organization for each event. Exported so that a test can EXPLAIN it.
 */
export const EVENTS_WITH_KEYS = `
  SELECT e.*, ${wrappedKeyOf('e', 'subject_id')} AS wrapped_key
  FROM events e`;

/** Whether an event of this type destroys the key of its stream's subject. */
export function endsKey(type: string): boolean {
  return (ENDINGS as readonly string[]).includes(type);
}

/** Events at known positions, with the keys as they are now. */
export const AT_POSITIONS = `
  SELECT e.*, (SELECT k.wrapped_key FROM public.subject_keys k
    WHERE k.organization_id = e.organization_id AND k.subject_id = e.subject_id) AS wrapped_key
  FROM public.events e WHERE e.position = ANY ($1::bigint[]) ORDER BY e.position`;

/** Limits of a page: events, and bytes of their JSON. */
export const PAGE = 1_000;
const PAGE_BYTES = 1024 * 1024;
/** Events read along with a snapshot, of one stream and of each of several. Most have none; 16 of maximum size are 4 MiB. */
export const MOST_ALONG = 16;
export const MOST_ALONG_MANY = 2;

export type PageRow = EventRow & { wanted: string };

/** Whether a page ended at its limit of bytes. */
export function isCut(rows: readonly PageRow[]): boolean {
  return rows.length > 0 && rows.length < Number(rows[0]!.wanted);
}

/**
 * SQL for the first of these events, up to `PAGE_BYTES` but at least one. An event's size is known only after reading it
 * (pg_column_size is the compressed size, a ninetieth at worst). So they are read one by one until the limit is reached. A
 * sum over all would read a page of 1,000 to return four.
 *
 * @param positions a SELECT of their positions in order, with a LIMIT. Its first parameter is the organization.
 */
export function firstBytes(positions: string): string {
  const size = '(octet_length(e.data::text) + coalesce(octet_length(e.personal), 0))::bigint';
  return `
    WITH RECURSIVE wanted AS MATERIALIZED (SELECT array_agg(position) AS positions FROM (${positions}) found),
    page AS (
      SELECT 1 AS place, e.position, ${size} AS bytes
      FROM events e WHERE e.organization_id = $1 AND e.position = (SELECT positions[1] FROM wanted)
      UNION ALL
      SELECT p.place + 1, e.position, p.bytes + ${size}
      FROM page p JOIN events e ON e.organization_id = $1 AND e.position = (SELECT positions FROM wanted)[p.place + 1]
      WHERE p.bytes < ${PAGE_BYTES}
    )
    SELECT e.*, (SELECT cardinality(positions) FROM wanted) AS wanted
    FROM page p CROSS JOIN LATERAL (
      ${EVENTS_WITH_KEYS} WHERE e.organization_id = $1 AND e.position = p.position
    ) e ORDER BY p.place`;
}

export const STREAM_PAGE = firstBytes(`
  SELECT e.position FROM events e
  WHERE e.organization_id = $1 AND e.stream_id = $2 AND e.version > $5
    AND e.version <= coalesce($3, e.version) AND e.position <= coalesce($4, e.position)
  ORDER BY e.version LIMIT $6`);

/** The newest events of a stream and those of other streams about its subject. Each part has its own index and LIMIT. */
export const ABOUT = firstBytes(`
  SELECT about.position FROM (
    (SELECT e.position FROM events e WHERE e.organization_id = $1 AND e.stream_id = $2 AND e.position > 0
       AND e.position < $4 AND ($5::text[] IS NULL OR e.type = ANY ($5))
     ORDER BY e.version DESC LIMIT $3)
    UNION ALL
    (SELECT e.position FROM events e
     WHERE e.organization_id = $1 AND e.subject_id = $2 AND e.subject_id <> e.stream_id AND e.position > 0
       AND e.position < $4 AND ($5::text[] IS NULL OR e.type = ANY ($5))
     ORDER BY e.position DESC LIMIT $3)
  ) about ORDER BY about.position DESC LIMIT $3`);

/** In the order of its index: see `historyQuery`. */
export const OF_REQUEST = `
  SELECT e.position, e.stream_id, e.type, e.recorded_at FROM events e
  WHERE (e.organization_id, (e.metadata->>'requestId'), e.position) > ($1::uuid, $2, $3::bigint)
    AND (e.organization_id, (e.metadata->>'requestId'), e.position) <= ($1::uuid, $2, ${Number.MAX_SAFE_INTEGER}::bigint)
  ORDER BY e.organization_id, (e.metadata->>'requestId'), e.position LIMIT $4`;

/**
 * Each part walks along its own index (see `historyQuery`) and ends at the first such event. For EXISTS, PostgreSQL would read all
 * events of an organization that is missing from its statistics.
 */
export const TOUCHED = `
  SELECT s.id FROM unnest($2::uuid[]) AS s(id) CROSS JOIN LATERAL (
    (SELECT FROM events e
     WHERE (e.organization_id, e.stream_id, e.version) > ($1::uuid, s.id, 0)
       AND (e.organization_id, e.stream_id, e.version) <= ($1::uuid, s.id, 2147483647)
       AND e.metadata->>'requestId' IS DISTINCT FROM $3
     ORDER BY e.organization_id, e.stream_id, e.version LIMIT 1)
    UNION ALL
    (SELECT FROM events e
     WHERE (e.organization_id, e.subject_id) >= ($1::uuid, s.id) AND (e.organization_id, e.subject_id) <= ($1::uuid, s.id)
       AND e.subject_id <> e.stream_id AND e.metadata->>'requestId' IS DISTINCT FROM $3
     ORDER BY e.organization_id, e.subject_id LIMIT 1)
    LIMIT 1
  ) other`;

/** The polling query, exported so that a test can EXPLAIN exactly what runs. */
export const READ_ALL = `${EVENTS_WITH_KEYS}
  WHERE e.position > $1 AND e.position <= $2 AND ($4::text[] IS NULL OR e.type = ANY ($4))
  ORDER BY e.position LIMIT $3`;

/** A row of `streamsNow`. The event's columns are null if the stream has none. */
export type SnapshotRow = EventRow & {
  id: string;
  snapshot_version: number | null;
  created_at: Date | null;
  updated_at: Date | null;
  /** Only in the first row of each stream. */
  state: string | null;
};

const NO_SNAPSHOTS = `SELECT NULL::uuid AS id, 0 AS version, now() AS created_at, now() AS updated_at, '' AS state WHERE false`;

/** SQL for snapshots and the events after them. In one statement, both see the same moment, so no event is missed. */
export function streamsNow(snapshots = NO_SNAPSHOTS): string {
  return `
    WITH snapshot AS MATERIALIZED (${snapshots})
    SELECT k.id, s.version AS snapshot_version, s.created_at, s.updated_at, along.*,
      CASE WHEN along.version IS NULL OR along.version = s.version + 1 THEN s.state END AS state
    FROM unnest($2::uuid[]) AS k(id) LEFT JOIN snapshot s ON s.id = k.id LEFT JOIN LATERAL (
      ${EVENTS_WITH_KEYS}
      WHERE e.organization_id = $1 AND e.stream_id = k.id AND e.version > coalesce(s.version, 0)
      ORDER BY e.version LIMIT $3
    ) along ON true
    ORDER BY k.id, along.version`;
}
