import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventStore, type RecordedEvent } from '#libs/event-store';
import { type Projection, schemaOf } from '#libs/projections';
import { isId } from '#libs/rpc';
import { type ContactRecord } from './contact-record.js';
import {
  CONTACT_DETAILS,
  comparableEmail,
  contact,
  type ContactDetails,
  type ContactEvent,
} from './contact.js';

/** The columns of the details, named like the fields: "firstName" is first_name. */
const COLUMNS = Object.fromEntries(
  CONTACT_DETAILS.map((detail) => [detail, detail.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
) as { [detail in keyof ContactDetails]: string };

const DETAIL_COLUMNS = Object.values(COLUMNS);

/** What a page of events makes of one contact. */
type Change = {
  id: string;
  organization_id: string;
  created_at?: Date;
  updated_at: Date;
  /** Columns to set; an absent one keeps its value. */
  set: { [column: string]: string | boolean | null };
};

export const contactsProjection: Projection<ContactEvent> = {
  name: 'contacts',
  version: 1,
  handles: ['ContactCreated', 'ContactUpdated', 'ContactSubscribed', 'ContactUnsubscribed', 'ContactErased'],
  tables: `
    CREATE TABLE contacts (
      organization_id uuid           NOT NULL,
      id              uuid           NOT NULL,
      created_at      timestamptz(3) NOT NULL,
      updated_at      timestamptz(3) NOT NULL,
      subscribed      boolean        NOT NULL,
      ${DETAIL_COLUMNS.map((column) => `${column} text`).join(',\n      ')},
      email_compared  text,
      PRIMARY KEY (organization_id, id)
    );
    -- ANALYZE keeps samples of a column's values, and would keep them after their persons were erased.
    ALTER TABLE contacts ${[...DETAIL_COLUMNS, 'email_compared']
      .map((column) => `ALTER COLUMN ${column} SET STATISTICS 0`)
      .join(', ')};
    CREATE INDEX contacts_by_creation ON contacts (organization_id, created_at, id);
    CREATE INDEX contacts_by_update ON contacts (organization_id, updated_at, id);
    CREATE INDEX contacts_by_email ON contacts (organization_id, email_compared, id);
  `,

  async apply(events, transaction) {
    const created = new Map<string, Change>();
    const changed = new Map<string, Change>();
    const erased = new Map<string, string>();
    for (const event of events) {
      const { streamId: id, organizationId: organization_id, recordedAt: updated_at } = event;
      switch (event.type) {
        case 'ContactCreated':
          created.set(id, { id, organization_id, created_at: updated_at, updated_at, set: columnsOf(event) });
          break;
        case 'ContactErased':
          created.delete(id);
          changed.delete(id);
          erased.set(id, organization_id);
          break;
        case 'ContactUpdated':
        case 'ContactSubscribed':
        case 'ContactUnsubscribed': {
          const before = created.get(id) ?? changed.get(id);
          if (before) {
            before.updated_at = updated_at;
            Object.assign(before.set, columnsOf(event));
          } else {
            changed.set(id, { id, organization_id, updated_at, set: columnsOf(event) });
          }
        }
      }
    }
    if (created.size > 0) await transaction.query(INSERT, [JSON.stringify([...created.values()])]);
    if (changed.size > 0) await transaction.query(UPDATE, [JSON.stringify([...changed.values()])]);
    if (erased.size > 0) {
      await transaction.query(
        `DELETE FROM contacts c USING unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
         WHERE c.organization_id = e.organization_id AND c.id = e.id`,
        [[...erased.values()], [...erased.keys()]],
      );
    }
  },
};

/** What an event sets. Of an erased person the history has no details left: they stay as they are, null. */
function columnsOf(event: RecordedEvent<ContactEvent>): Change['set'] {
  switch (event.type) {
    case 'ContactCreated':
      return { subscribed: event.data.subscribed, ...detailColumns(event.personal) };
    case 'ContactUpdated':
      return detailColumns(event.personal);
    case 'ContactSubscribed':
      return { subscribed: true };
    case 'ContactUnsubscribed':
      return { subscribed: false };
    case 'ContactErased':
      return {};
  }
}

function detailColumns(details: Partial<ContactDetails> | null): Change['set'] {
  const columns: Change['set'] = {};
  for (const [detail, value] of Object.entries(details ?? {})) {
    columns[COLUMNS[detail as keyof ContactDetails]] = value;
    if (detail === 'email' && value !== null) columns.email_compared = comparableEmail(value);
  }
  return columns;
}

const SET_COLUMNS = ['subscribed', ...DETAIL_COLUMNS, 'email_compared'];
const CHANGES = `jsonb_to_recordset($1::jsonb)
  AS change(id uuid, organization_id uuid, created_at timestamptz, updated_at timestamptz, set jsonb)`;
const fromSet = (column: string) =>
  column === 'subscribed' ? `(change.set->>'subscribed')::boolean` : `change.set->>'${column}'`;

const INSERT = `
  INSERT INTO contacts (organization_id, id, created_at, updated_at, ${SET_COLUMNS.join(', ')})
  SELECT organization_id, id, created_at, updated_at, ${SET_COLUMNS.map(fromSet).join(', ')} FROM ${CHANGES}`;

const UPDATE = `
  UPDATE contacts SET updated_at = change.updated_at,
    ${SET_COLUMNS.map(
      (column) =>
        `${column} = CASE WHEN change.set ? '${column}' THEN ${fromSet(column)} ELSE contacts.${column} END`,
    ).join(',\n    ')}
  FROM ${CHANGES}
  WHERE contacts.organization_id = change.organization_id AND contacts.id = change.id`;

export const CONTACTS_TABLE = `${schemaOf(contactsProjection)}.contacts`;

/** SQL: bytes of a row, for `findPage`. */
export const CONTACT_BYTES = DETAIL_COLUMNS.map((column) => `coalesce(octet_length(${column}), 0)`).join(
  ' + ',
);

export type ContactRow = {
  id: string;
  organization_id: string;
  created_at: Date;
  updated_at: Date;
  subscribed: boolean;
} & { [column: string]: unknown };

/** Reads the read model. */
@Injectable()
export class ContactsTable {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  async find(organizationId: string, contactId: string): Promise<ContactRecord | undefined> {
    if (!isId(contactId)) return undefined;
    const [row] = await this.source.query<ContactRow[]>(
      `SELECT * FROM ${CONTACTS_TABLE} WHERE organization_id = $1 AND id = $2`,
      [organizationId, contactId],
    );
    return row && recordFromRow(row);
  }

  /** Which of these are no contacts of this organization. */
  async findUnknown(organizationId: string, contactIds: readonly string[]): Promise<string[]> {
    const rows = await this.source.query<{ id: string }[]>(
      `SELECT id FROM ${CONTACTS_TABLE} WHERE organization_id = $1 AND id = ANY ($2::uuid[])`,
      [organizationId, contactIds.filter(isId)],
    );
    const known = new Set(rows.map(({ id }) => id));
    return contactIds.filter((id) => !known.has(id));
  }

  /** Which of these, that are no contacts, were. */
  async findErased(organizationId: string, contactIds: readonly string[]): Promise<Set<string>> {
    return this.store.findStreams(organizationId, contact.streamType, contactIds.filter(isId));
  }
}

export function recordFromRow(row: ContactRow): ContactRecord {
  const details = Object.fromEntries(
    CONTACT_DETAILS.map((detail) => [detail, row[COLUMNS[detail]]]),
  ) as ContactDetails;
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...details,
    organizationId: row.organization_id,
    subscribed: row.subscribed,
  };
}
