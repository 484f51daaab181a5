import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BatchLoader, momentAsText, type ReadSource } from '#libs/database';
import { EventStore, wrappedKeyOf } from '#libs/event-store';
import {
  type Bind,
  type Condition,
  countRows,
  findRows,
  hasGoneOn,
  type ListedTable,
  type Listing,
  searchElsewhere,
} from '#libs/projections';
import { isId } from '#libs/rpc';
import {
  CONTACT_BYTES,
  DETAIL_COLUMNS,
  detailsOf,
  extrasOf,
  type Open,
  SEALED_COLUMNS,
  SEARCHED,
  WIDEST_CONTACT,
} from './contact-columns.js';
import { type ContactRecord } from './contact-record.js';
import { contact } from './contact.js';
import { CONTACTS_TABLE } from './contacts.projection.js';
import { type Filter } from './filters/filter.js';
import { filterSql } from './filters/filter-sql.js';

export type ContactRow = {
  id: string;
  organization_id: string;
  created_at: string;
  updated_at: string;
  version: number;
  subscribed: boolean;
  /** The key of the encrypted columns; null if nothing is encrypted. */
  wrapped_key: Buffer | null;
} & { [column: string]: unknown };

/** The condition for `q` in a table of another module. @param idColumn its column with contact ids. */
export function searchContacts(idColumn: string, q: string | undefined): Condition | undefined {
  return searchElsewhere(CONTACTS_TABLE, idColumn, SEARCHED, q);
}

/**
 * SQL: whether the contact of organization $1 with this id has an email address of this domain. Both are in
 * lower case.
 */
export function hasEmailDomain(id: string, domain: string): string {
  return `EXISTS (
    SELECT FROM ${CONTACTS_TABLE} c WHERE c.organization_id = $1 AND c.id = ${id}
      AND right(c.email_compared, length(${domain}::text) + 1) = '@' || ${domain}::text)`;
}

/** SQL: a left join that adds `c.country` and `c.updated_at` of the contact of organization $1 with this id. */
export function joinCountry(id: string): string {
  return `LEFT JOIN ${CONTACTS_TABLE} c ON c.organization_id = $1 AND c.id = ${id}`;
}

const IS_SEALED = SEALED_COLUMNS.map((column) => `${column} IS NOT NULL`).join(' OR ');

/** SQL: the columns that `record` needs. @param row the table's alias. */
function columnsOf(row: string): string {
  const columns = [
    ...['id', 'organization_id', 'version', 'subscribed', 'email_compared'],
    ...['external_ids', 'custom_fields'],
  ];
  const details = DETAIL_COLUMNS.map(({ column }) => column);
  const moments = ['created_at', 'updated_at'].map((name) => `${momentAsText(`${row}.${name}`)} AS ${name}`);
  const key = `CASE WHEN ${IS_SEALED} THEN ${wrappedKeyOf(row, 'id')} END AS wrapped_key`;
  return [...[...columns, ...details].map((column) => `${row}.${column}`), ...moments, key].join(', ');
}

/** The table for `findRows`. */
export const CONTACT_PAGE: ListedTable = {
  table: CONTACTS_TABLE,
  columns: columnsOf('page'),
  bytes: CONTACT_BYTES,
  widest: WIDEST_CONTACT,
  sortColumns: { email: { column: 'email_compared', type: 'text' } },
};

/** Leaves out contacts with newer events, because the row is outdated. */
const FIND = `
  SELECT ${columnsOf('c')} FROM unnest($1::uuid[], $2::uuid[]) AS asked(organization_id, id)
  JOIN ${CONTACTS_TABLE} c ON c.organization_id = asked.organization_id AND c.id = asked.id
  WHERE NOT ${hasGoneOn('c')}`;

/** Limits a statement: a contact has about 100 KB at most. */
const MOST_AT_ONCE = 50;

type Key = { organizationId: string; contactId: string };

/** Reads contacts from their projection. */
@Injectable()
export class ContactsTable {
  private readonly rows: BatchLoader<Key, ContactRow>;

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {
    this.rows = new BatchLoader(
      async (keys) => {
        const rows = await source.query<ContactRow[]>(FIND, [
          keys.map(({ organizationId }) => organizationId),
          keys.map(({ contactId }) => contactId),
        ]);
        return new Map(rows.map((row) => [nameOf(row.organization_id, row.id), row]));
      },
      ({ organizationId, contactId }) => nameOf(organizationId, contactId),
      MOST_AT_ONCE,
    );
  }

  /** Also undefined if the contact has newer events than the projection. */
  async find(organizationId: string, contactId: string): Promise<ContactRecord | undefined> {
    if (!isId(contactId)) return undefined;
    const row = await this.rows.load({ organizationId, contactId });
    return row && this.record(row);
  }

  /** Returns the ids that are not contacts of this organization. */
  async findUnknown(organizationId: string, contactIds: readonly string[]): Promise<string[]> {
    if (contactIds.length === 0) return [];
    const rows = await this.source.query<{ id: string }[]>(
      `SELECT id FROM ${CONTACTS_TABLE} WHERE organization_id = $1 AND id = ANY ($2::uuid[])`,
      [organizationId, contactIds.filter(isId)],
    );
    const known = new Set(rows.map(({ id }) => id));
    return contactIds.filter((id) => !known.has(id));
  }

  /** Returns the ids of former contacts. */
  async findErased(organizationId: string, contactIds: readonly string[]): Promise<Set<string>> {
    return this.store.findStreams(organizationId, contact.streamType, contactIds.filter(isId));
  }

  /** The number of contacts that match conditions now, counted up to `most`. */
  count(
    reads: ReadSource,
    times: Omit<Listing, 'limit' | 'sort'>,
    conditions: readonly (Condition | undefined)[],
    most: number,
  ): Promise<number> {
    return countRows(reads, times, CONTACTS_TABLE, { conditions, most });
  }

  /** The newest contacts that match a filter now. */
  async newest(
    reads: ReadSource,
    organizationId: string,
    filter: Filter,
    limit: number,
  ): Promise<ContactRecord[]> {
    const write = (bind: Bind) => filterSql(filter, { bind });
    const listing = { organizationId, limit, sort: '-createdAt' };
    const { rows } = await findRows<ContactRow>(reads, listing, CONTACT_PAGE, { conditions: [{ write }] });
    return rows.map((row) => this.record(row));
  }

  record(row: ContactRow): ContactRecord {
    const open = row.wrapped_key ? this.store.opener(row.id, row.wrapped_key) : undefined;
    return {
      id: row.id,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      version: row.version,
      ...detailsOf(row, open as Open | undefined),
      ...extrasOf(row),
      organizationId: row.organization_id,
      subscribed: row.subscribed,
    };
  }
}

function nameOf(organizationId: string, contactId: string): string {
  return `${organizationId} ${contactId}`;
}
