import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { ReadSource } from '#libs/database';
import { findRows } from '#libs/projections';
import { Resources } from '#libs/resources';
import { listingOf, Operation, type Page, Paged, pageOf } from '#libs/rpc';
import { CustomFields } from '../fields/index.js';
import { contactConditions, ContactFilters, FILTER_SCOPES } from './filters/contact-filters.js';
import { type ContactRecord, contactSchema } from './contact-record.js';
import { CONTACT_PAGE, type ContactRow, ContactsTable } from './contacts-table.js';

@Operation({
  method: 'GET',
  name: 'contact.list-contacts',
  object: 'contacts',
  summary: 'List contacts',
  answers: contactSchema,
  list: true,
  fieldScopes: FILTER_SCOPES,
})
export class ListContacts extends Paged(ContactFilters, 'email') {}

@QueryHandler(ListContacts)
export class ListContactsHandler implements IQueryHandler<ListContacts> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly contacts: ContactsTable,
    private readonly fields: CustomFields,
  ) {}

  async execute(query: ListContacts): Promise<Page<ContactRecord>> {
    const conditions = await contactConditions(query, this.resources);
    const listing = listingOf(query);
    const { rows, next } = await findRows<ContactRow>(this.reads, listing, CONTACT_PAGE, { conditions });
    const records = rows.map((row) => this.contacts.record(row));
    await this.fields.name(query.organizationId, records);
    return pageOf(query, records, next);
  }
}
