import { type Sql } from '#libs/database';
import { CONTACTS_TABLE } from './contacts.projection.js';

/** Contacts that are chosen by records of one kind: by the lists that they are on, the petitions that they have signed. */
export type ChosenBy = { linkTable: string; recordIds: readonly string[] };

export type Choice = {
  links: readonly ChosenBy[];
  contactIds: readonly string[];
  /** Whoever is linked to one of these is excluded. */
  without: readonly ChosenBy[];
  /** What a contact must have; a field that is left out may be anything. */
  filter: { country?: string; city?: string; zip?: string };
};

export type ChosenContact = {
  id: string;
  /** By how many links, and by itself. */
  times: number;
  /** Null where there is no such contact, or none any more. */
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

/** Contacts that are held at once. */
const PAGE = 5_000;

/**
 * All whom a choice names, also those whom it does not mean, in the order of their ids; page by page, in one statement.
 *
 * @param transaction the caller's, which is not used by anybody else until the last page was taken.
 */
export async function* chosenContacts(
  transaction: Sql,
  organizationId: string,
  choice: Choice,
): AsyncGenerator<ChosenContact[]> {
  const { links, contactIds, without, filter } = choice;
  const values: unknown[] = [organizationId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const linkedTo = ({ linkTable, recordIds }: ChosenBy) => `
    SELECT subject_id AS id FROM ${linkTable}
    WHERE organization_id = $1 AND record_id = ANY (${parameter(recordIds)}::uuid[])
      AND ended_at IS NULL AND subject_id IS NOT NULL`;
  const named = [...links.map(linkedTo), `SELECT unnest(${parameter(contactIds)}::uuid[]) AS id`].join(
    ' UNION ALL ',
  );
  const excluded = without.length > 0 ? `c.id IN (${without.map(linkedTo).join(' UNION ALL ')})` : 'false';
  const conditions = Object.entries(filter).map(([column, value]) => `k.${column} = ${parameter(value)}`);
  // A cursor: who is named is found out once, not once a page.
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
