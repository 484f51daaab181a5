import { queryInTurn, type Sql } from '#libs/database';

/** What events are asked for; the moments as text that PostgreSQL reads. */
export type EventFilter = {
  recordType?: string | undefined;
  recordId?: string | undefined;
  /** Any of several. */
  type?: string | readonly string[] | undefined;
  actorId?: string | undefined;
  /** Any of several, where a request is known by more than one. */
  requestId?: string | readonly string[] | undefined;
  occurredAfter?: string | undefined;
  occurredBefore?: string | undefined;
};

/** Events in order that are looked through for each one that the page may have. */
const WALKED_PER_EVENT = 100;

/** Values that a filter takes for these columns, which have an index (organization_id, columns, position). */
type ByValue = { columns: readonly string[]; values: readonly (readonly string[])[] };

/**
 * What follows `FROM events e` in the query for a page of an organization's history; undefined where no event can
 * meet the filter. Only the conditions that are asked: one that may be absent (`$1 IS NULL OR …`) uses no index.
 *
 * A filter by value is walked along in its own index, which is in the order of positions. Several filters have none
 * together, and moments are almost in that order but not quite: the next events in order are looked through, and
 * where these do not fill the page, all that meet the filters are found and sorted, in the same statement.
 *
 * @param end from which the page is taken: the rows come in the order of positions all the same.
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
   * Positions in order along one index, and along no other: compared as a row, its columns are what is sorted by.
   * With `organization_id = … AND …` PostgreSQL would choose by statistics that know nothing of single organizations,
   * and walk along another index for what only others have.
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
    // Once, before anything is read: of what the organization does not have nothing needs to be found.
    ...byValue.map((one) => `EXISTS (${walk(one, '1')})`),
  ];
  // A record's events are few. OFFSET 0 keeps PostgreSQL from walking in order for the rest too.
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
 * The kinds of events that the organization has and the filter means; undefined if it means all. Each is one look into
 * the index, some dozens in all: cheaper than an index of its own for either column, which every append would pay.
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
