import { type Sql } from '#libs/database';
import { type Resource } from '#libs/resources';
import { CONTACTS_TABLE } from '../contacts.projection.js';
import { kindOf } from './contact-filters.js';
import { inCountry } from './countries.js';
import { filterSql } from './filter-sql.js';

/** Contacts chosen by records of one kind: the lists that they are on, or the segments whose filters they match. */
export type ChosenBy = { resource: Resource; recordIds: readonly string[] };

export type Choice = {
  /** Everyone who is subscribed. */
  all: boolean;
  records: readonly ChosenBy[];
  contactIds: readonly string[];
  /** Contacts that belong to one of these are excluded. */
  without: readonly ChosenBy[];
  /** Values that a contact must have. Names and codes of a country are equal. An omitted field matches any value. */
  filter: { country?: string; city?: string; zip?: string };
};

export type ChosenContact = {
  id: string;
  /** How many records and ids chose it. */
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
 * Segments are evaluated as the transaction sees them. To evaluate them at a position of the log, use a snapshot
 * in which all projections have this position.
 *
 * @param transaction the caller's. Nothing else may use it until the last page was read.
 * @param moment from which `inLast` of segments counts back. Default: now.
 */
export async function* chosenContacts(
  transaction: Sql,
  organizationId: string,
  choice: Choice,
  moment?: Date,
): AsyncGenerator<ChosenContact[]> {
  const { all, records, contactIds, without, filter } = choice;
  const values: unknown[] = [organizationId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const everyone = `SELECT id FROM ${CONTACTS_TABLE} WHERE organization_id = $1`;
  /** A statement for all linked contacts, or one for each segment. */
  const members = async ({ resource, recordIds }: ChosenBy): Promise<string[]> => {
    const { filterOf } = kindOf(resource);
    if (!filterOf) {
      return [
        `SELECT subject_id AS id FROM ${resource.linkTable!}
         WHERE organization_id = $1 AND record_id = ANY (${parameter(recordIds)}::uuid[])
           AND ended_at IS NULL AND subject_id IS NOT NULL`,
      ];
    }
    const rows = await transaction.query<{ state: object }[]>(
      `SELECT state FROM ${resource.table} WHERE organization_id = $1 AND id = ANY ($2::uuid[])`,
      [organizationId, recordIds],
    );
    return rows.map(
      ({ state }) => `${everyone} AND ${filterSql(filterOf(state), { bind: parameter, moment })}`,
    );
  };
  const membersOf = async (by: readonly ChosenBy[]): Promise<string[]> => {
    const statements: string[] = [];
    for (const one of by) statements.push(...(await members(one)));
    return statements;
  };
  const named = [
    ...(all ? [`${everyone} AND subscribed`] : []),
    ...(await membersOf(records)),
    `SELECT unnest(${parameter(contactIds)}::uuid[]) AS id`,
  ].join(' UNION ALL ');
  const excluding = await membersOf(without);
  // Joined, because PostgreSQL would search a list that exceeds work_mem again for each contact.
  const excluded =
    excluding.length > 0
      ? `SELECT DISTINCT id FROM (${excluding.join(' UNION ALL ')}) AS excluding`
      : 'SELECT NULL::uuid AS id WHERE false';
  const conditions = Object.entries(filter).map(([column, place]) => {
    const { sql, value } =
      column === 'country' ? inCountry(place)! : { sql: `k.${column} = ?`, value: place };
    return sql.replace('?', parameter(value));
  });
  // With a cursor, the choice is evaluated once, not once per page.
  await transaction.query(
    `DECLARE chosen NO SCROLL CURSOR FOR
     SELECT c.id, c.times, k.email, k.id IS NOT NULL AS is_known, excluded.id IS NOT NULL AS is_excluded,
       (${['true', ...conditions].join(' AND ')}) IS NOT TRUE AS is_filtered, k.subscribed
     FROM (SELECT id, count(*)::int AS times FROM (${named}) AS named GROUP BY id) AS c
     LEFT JOIN ${CONTACTS_TABLE} k ON k.organization_id = $1 AND k.id = c.id
     LEFT JOIN (${excluded}) AS excluded ON excluded.id = c.id
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
