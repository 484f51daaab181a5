import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventStore } from '#libs/event-store';
import { hasGoneOn } from '#libs/projections';
import { isId } from '#libs/rpc';
import { detailsOf, type Open, SEALED_COLUMNS } from './contact-columns.js';
import { type ContactRecord } from './contact-record.js';
import { contact } from './contact.js';
import { CONTACTS_TABLE } from './contacts.projection.js';

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

  /** Undefined also where the history has gone on: then it knows more. */
  async find(organizationId: string, contactId: string): Promise<ContactRecord | undefined> {
    if (!isId(contactId)) return undefined;
    const [row] = await this.source.query<ContactRow[]>(
      `SELECT * FROM ${CONTACTS_TABLE} c WHERE organization_id = $1 AND id = $2 AND NOT ${hasGoneOn('c')}`,
      [organizationId, contactId],
    );
    return row && (await this.records(organizationId, [row]))[0];
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

  /** The records of rows as they are in the table. */
  async records(organizationId: string, rows: readonly ContactRow[]): Promise<ContactRecord[]> {
    const sealed = rows.filter((row) => SEALED_COLUMNS.some((column) => row[column] !== null));
    const openers = await this.store.unseal(
      organizationId,
      sealed.map(({ id }) => id),
    );
    return rows.map((row) => ({
      id: row.id,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      ...detailsOf(row, openers.get(row.id) as Open | undefined),
      organizationId: row.organization_id,
      subscribed: row.subscribed,
    }));
  }
}
