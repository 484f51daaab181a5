import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { CustomFields } from '../fields/index.js';
import { type ContactRecord, recordFromHistory } from './contact-record.js';
import { contact } from './contact.js';
import { ContactsTable } from './contacts-table.js';

/** Loads many contacts as get-contact returns them. */
@Injectable()
export class ContactsByIds {
  constructor(
    private readonly records: RecordReader,
    private readonly contacts: ContactsTable,
    private readonly fields: CustomFields,
  ) {}

  /** By id, without unknown and erased contacts. */
  async find(organizationId: string, contactIds: readonly string[]): Promise<Map<string, ContactRecord>> {
    const found = await Promise.all(contactIds.map((id) => this.findOne(organizationId, id)));
    const records = found.filter((record) => record !== undefined);
    await this.fields.name(organizationId, records);
    return new Map(records.map((record) => [record.id, record]));
  }

  private async findOne(organizationId: string, contactId: string): Promise<ContactRecord | undefined> {
    const record = await this.contacts.find(organizationId, contactId);
    if (record) return record;
    // Erased, or changed a moment ago.
    const folded = await this.records.look(contact, organizationId, contactId);
    return folded.state.status === 'standing'
      ? recordFromHistory(organizationId, contactId, folded)
      : undefined;
  }
}
