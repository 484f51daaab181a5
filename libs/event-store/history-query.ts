import { queryInTurn, queryWide, type ReadSource, type Sql } from '#libs/database';

/** Conditions that events must meet. Moments are texts that PostgreSQL can parse. */
export type EventFilter = {
  recordType?: string | undefined;
  recordId?: string | undefined;
  /** One of these. */
  type?: string | readonly string[] | undefined;
  actorId?: string | undefined;
  /** One of these, because a request may have several ids. */
  requestId?: string | readonly string[] | undefined;
  occurredAfter?: string | undefined;
  occurredBefore?: string | undefined;
};

/** Events in order that are examined for each event of the page. */
const WALKED_PER_EVENT = 100;

/** The values that a filter allows for these columns, which have an index (organization_id, columns, position). */
type ByValue = { columns: readonly string[]; values: readonly (readonly string[])[] };

/**
 * The part after `FROM events e` of the query for a page of an organization's history. Undefined if no event can match the
 * filter. It contains only the given conditions, because an optional one (`$1 IS NULL OR …`) uses no index.
 *
 * A filter by a single value walks along its own index, which is in the order of positions. Several filters share no
 * index, and moments are not quite in that order. Then the next events in order are examined. If they do not fill the page,
 * the same statement finds and sorts all events that match.
 *
 * @param end the end of the range from which the page is taken. Rows are in the order of positions in either case.
 */
export async function historyQuery(
  sql: Sql,
  organizationId: string,
  { after, upTo }: { after: number; upTo: number },
  limit: number,
  filter: EventFilter,
  end: 'oldest' | 'newest' = 'oldest',
): Promise<{ text: string; values: unknown[] } | undefined> {
  const { recordId, actorId, requestId, occurredAfter, occurredBefore } = filter;
  const kinds = await findKinds(sql, organizationId, filter);
  if (kinds?.length === 0) return undefined;

  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const [organization, first, last, most] = [organizationId, after, upTo, limit].map(bind);
  const order = end === 'oldest' ? 'ASC' : 'DESC';

  /**
   * Positions in the order of one particular index, because a row comparison and ORDER BY use exactly its
   * columns. With `organization_id = … AND …`, PostgreSQL would choose an index by statistics, which do not
   * cover single organizations. It could read one in which only other organizations have matches.
   */
  const walk = ({ columns, values: rows }: ByValue, rowLimit: string) => {
    const names = columns.map((_, index) => `v${index}`);
    const indexed = ['e.organization_id', ...columns, 'e.position'];
    const index = indexed.join(', ');
    const bound = (position: string) => [`${organization}::uuid`, ...names, `${position}::bigint`].join(', ');
    const inOrder = `
      SELECT e.position FROM events e WHERE (${index}) > (${bound(first!)}) AND (${index}) <= (${bound(last!)})
      ORDER BY ${indexed.map((column) => `${column} ${order}`).join(', ')} LIMIT ${rowLimit}`;
    if (columns.length === 0) return inOrder;
    const arrays = columns.map((_, column) => `${bind(rows.map((row) => row[column]))}::text[]`);
    return `
      SELECT o.position FROM unnest(${arrays.join(', ')}) AS one(${names.join(', ')})
      CROSS JOIN LATERAL (${inOrder}) o ORDER BY o.position ${order} LIMIT ${rowLimit}`;
  };

  const byValue: ByValue[] = [];
  if (kinds) {
    byValue.push({
      columns: ['e.stream_type', 'e.type'],
      values: kinds.map(({ stream_type, type }) => [stream_type, type]),
    });
  }
  if (actorId !== undefined) byValue.push({ columns: [`(e.metadata->'actor'->>'id')`], values: [[actorId]] });
  if (requestId !== undefined) {
    byValue.push({ columns: [`(e.metadata->>'requestId')`], values: [requestId].flat().map((id) => [id]) });
  }
  const others: string[] = [];
  if (recordId !== undefined) others.push(`e.stream_id = ${bind(recordId)}`);
  if (occurredAfter !== undefined) others.push(`e.recorded_at > ${bind(occurredAfter)}`);
  if (occurredBefore !== undefined) others.push(`e.recorded_at < ${bind(occurredBefore)}`);

  if (byValue.length + others.length === 0) return { text: byPosition(walk(EVERYTHING, most!)), values };
  if (byValue.length === 1 && others.length === 0) {
    return { text: byPosition(walk(byValue[0]!, most!)), values };
  }

  const filters = [...others];
  for (const { columns, values: rows } of byValue) {
    columns.forEach((column, index) => {
      filters.push(`${column} = ANY (${bind([...new Set(rows.map((row) => row[index]))])}::text[])`);
    });
  }
  const all = [
    `e.organization_id = ${organization} AND e.position > ${first} AND e.position <= ${last}`,
    ...filters,
    // Evaluated once, before anything is read: skips the search if the organization has no such event.
    ...byValue.map((one) => `EXISTS (${walk(one, '1')})`),
  ];
  // A record has few events. OFFSET 0 prevents PostgreSQL from walking in order for the rest too.
  const near =
    recordId === undefined
      ? `SELECT e.position FROM events e
         WHERE e.organization_id = ${organization} AND e.position = ANY (ARRAY(${walk(EVERYTHING, bind(WALKED_PER_EVENT * limit))}))
           AND ${filters.join(' AND ')} ORDER BY e.position ${order} LIMIT ${most}`
      : 'SELECT 0::bigint AS position LIMIT 0';
  const positions = `
    WITH near AS MATERIALIZED (${near})
    (SELECT near.position FROM near WHERE (SELECT count(*) FROM near) = ${most})
    UNION ALL
    (SELECT found.position FROM (
       SELECT e.position FROM events e WHERE ${all.join(' AND ')} AND (SELECT count(*) FROM near) < ${most} OFFSET 0
     ) found ORDER BY found.position ${order} LIMIT ${most})`;
  return { text: byPosition(positions), values };
}

const EVERYTHING: ByValue = { columns: [], values: [] };

function byPosition(positions: string): string {
  return `WHERE e.organization_id = $1 AND e.position = ANY (ARRAY(${positions})) ORDER BY e.position`;
}

type Kind = { stream_type: string; type: string };

/**
 * The organization's kinds of events that match the filter. Undefined if all match. Each kind costs one index lookup, a
 * few dozen in total. That is cheaper than an index on either column, which would slow down every append.
 */
async function findKinds(
  sql: Sql,
  organizationId: string,
  { recordType, type }: EventFilter,
): Promise<Kind[] | undefined> {
  if (recordType === undefined && type === undefined) return undefined;
  const types = type === undefined ? undefined : [type].flat();
  if (recordType !== undefined && types) return types.map((one) => ({ stream_type: recordType, type: one }));
  const kinds = await queryInTurn<Kind>(sql, organizationId, KINDS, [organizationId]);
  return kinds.filter((kind) => kind.stream_type === recordType || types?.includes(kind.type));
}

const KINDS = `
  WITH RECURSIVE kinds AS (
    (SELECT e.stream_type, e.type FROM events e WHERE e.organization_id = $1
     ORDER BY e.stream_type, e.type LIMIT 1)
    UNION ALL
    SELECT next.stream_type, next.type FROM kinds CROSS JOIN LATERAL (
      SELECT e.stream_type, e.type FROM events e
      WHERE e.organization_id = $1 AND (e.stream_type, e.type) > (kinds.stream_type, kinds.type)
      ORDER BY e.stream_type, e.type LIMIT 1
    ) next
  )
  SELECT stream_type, type FROM kinds`;

export type CountedKind = { recordType: string; type: string };

/**
 * Counts an organization's events of each kind from each moment to the next, using only indexes. Moments become positions, so an event
 * recorded in the milliseconds around one may be counted before or after it.
 *
 * @param moments in order.
 * @returns for each moment except the last, the counts in the order of the kinds.
 */
export async function countEvents(
  sql: Sql | ReadSource,
  organizationId: string,
  moments: readonly Date[],
  kinds: readonly CountedKind[],
): Promise<number[][]> {
  const rows = await queryWide<{ counts: number[] }>(sql, organizationId, 'page', COUNTS, [
    organizationId,
    moments,
    kinds.map(({ recordType }) => recordType),
    kinds.map(({ type }) => type),
  ]);
  return rows.map(({ counts }) => counts);
}

/**
 * The values of a field of events between two moments, the later one excluded, and how many events have each: the most frequent ones.
 */
export function mostFrequent(
  sql: Sql | ReadSource,
  organizationId: string,
  [from, to]: readonly [Date, Date],
  { recordType, type }: CountedKind,
  field: string,
  most: number,
): Promise<{ value: string; count: number }[]> {
  return sql.query<{ value: string; count: number }[]>(MOST_FREQUENT, [
    organizationId,
    from,
    to,
    recordType,
    type,
    field,
    most,
  ]);
}

const positionAt = (moment: string) => `(
  SELECT e.position FROM events e WHERE e.organization_id = $1 AND e.recorded_at >= ${moment}
  ORDER BY e.recorded_at, e.position LIMIT 1)`;

const MOST_FREQUENT = `
  SELECT e.data->>$6 AS value, count(*)::int AS count FROM events e
  WHERE (e.organization_id, e.stream_type, e.type, e.position) >= ($1::uuid, $4, $5, ${positionAt('$2')})
    AND (e.organization_id, e.stream_type, e.type, e.position)
      < ($1::uuid, $4, $5, coalesce(${positionAt('$3')}, 9223372036854775807))
  GROUP BY 1 ORDER BY count DESC, value LIMIT $7`;

const COUNTS = `
  SELECT ARRAY(
    SELECT (
      SELECT count(*)::int FROM events e
      WHERE (e.organization_id, e.stream_type, e.type, e.position) >= ($1::uuid, kind.stream_type, kind.type, first)
        AND (e.organization_id, e.stream_type, e.type, e.position) < ($1::uuid, kind.stream_type, kind.type, next))
    FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS kind(stream_type, type, number) ORDER BY number) AS counts
  FROM (
    SELECT number, first, coalesce(lead(first) OVER (ORDER BY number), 9223372036854775807) AS next FROM (
      SELECT number, (
        SELECT e.position FROM events e WHERE e.organization_id = $1 AND e.recorded_at >= moment
        ORDER BY e.recorded_at, e.position LIMIT 1) AS first
      FROM unnest($2::timestamptz[]) WITH ORDINALITY AS at(moment, number)
    ) at
  ) ranges
  WHERE number < cardinality($2::timestamptz[]) ORDER BY number`;
