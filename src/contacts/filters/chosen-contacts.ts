import { type Sql } from '#libs/database';
import { CONTACTS_TABLE } from '../contacts.projection.js';

/** Contacts chosen by records of one kind: the lists that they are on, or the petitions that they have signed. */
export type ChosenBy = { linkTable: string; recordIds: readonly string[] };

export type Choice = {
  /** Everyone who is subscribed. */
  all: boolean;
  links: readonly ChosenBy[];
  contactIds: readonly string[];
  /** Contacts linked to one of these are excluded. */
  without: readonly ChosenBy[];
  /** Values that a contact must have. An omitted field matches any value. */
  filter: { country?: string; city?: string; zip?: string };
};

export type ChosenContact = {
  id: string;
  /** How many links and ids chose it. */
  times: number;
  /** Null if the contact does not exist or was erased. */
  email: string | null;
  isKnown: boolean;
  isExcluded: boolean;
  isFiltered: boolean;
  isSubscribed: boolean;
};

type Row = {
  id: string;
  times: number;
  email: string | null;
  is_known: boolean;
  is_excluded: boolean;
  is_filtered: boolean;
  subscribed: boolean;
};

/** Contacts in memory at the same time. */
const PAGE = 5_000;

/**
 * All contacts that a choice names, ordered by id. Includes those it excludes or filters out. A single
 * statement finds them; they are read page by page.
 *
 * @param transaction the caller's. Nothing else may use it until the last page was read.
 */
export async function* chosenContacts(
  transaction: Sql,
  organizationId: string,
  choice: Choice,
): AsyncGenerator<ChosenContact[]> {
  const { all, links, contactIds, without, filter } = choice;
  const values: unknown[] = [organizationId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const linkedTo = ({ linkTable, recordIds }: ChosenBy) => `
    SELECT subject_id AS id FROM ${linkTable}
    WHERE organization_id = $1 AND record_id = ANY (${parameter(recordIds)}::uuid[])
      AND ended_at IS NULL AND subject_id IS NOT NULL`;
  const named = [
    ...(all ? [`SELECT id FROM ${CONTACTS_TABLE} WHERE organization_id = $1 AND subscribed`] : []),
    ...links.map(linkedTo),
    `SELECT unnest(${parameter(contactIds)}::uuid[]) AS id`,
  ].join(' UNION ALL ');
  const excluded = without.length > 0 ? `c.id IN (${without.map(linkedTo).join(' UNION ALL ')})` : 'false';
  const conditions = Object.entries(filter).map(([column, value]) => `k.${column} = ${parameter(value)}`);
  // With a cursor, the choice is evaluated once, not once per page.
  await transaction.query(
    `DECLARE chosen NO SCROLL CURSOR FOR
     SELECT c.id, c.times, k.email, k.id IS NOT NULL AS is_known, ${excluded} AS is_excluded,
       (${['true', ...conditions].join(' AND ')}) IS NOT TRUE AS is_filtered, k.subscribed
     FROM (SELECT id, count(*)::int AS times FROM (${named}) AS named GROUP BY id) AS c
     LEFT JOIN ${CONTACTS_TABLE} k ON k.organization_id = $1 AND k.id = c.id
     ORDER BY c.id`,
    values,
  );
  for (;;) {
    const rows = await transaction.query<Row[]>(`FETCH ${PAGE} FROM chosen`);
    if (rows.length > 0) yield rows.map(chosenOf);
    if (rows.length < PAGE) break;
  }
  await transaction.query('CLOSE chosen');
}

function chosenOf(row: Row): ChosenContact {
  const { id, times, email } = row;
  return {
    id,
    times,
    email,
    isKnown: row.is_known,
    isExcluded: row.is_excluded,
    isFiltered: row.is_filtered,
    isSubscribed: row.subscribed,
  };
}
