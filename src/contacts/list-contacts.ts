import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { momentAsText, ReadSource } from '#libs/database';
import { type Past } from '#libs/event-store';
import { activeAt } from '#libs/links';
import { findRows, type ListedTable } from '#libs/projections';
import { type Resource, Resources } from '#libs/resources';
import {
  listingOf,
  Operation,
  type Page,
  Paged,
  pageOf,
  PastRecord,
  requireCreationOrder,
  Timestamp,
  until,
} from '#libs/rpc';
import { CustomFields } from '../fields/index.js';
import { contactConditions, ContactFilters, FILTER_SCOPES, membersOf } from './filters/contact-filters.js';
import { contact } from './contact.js';
import { type ContactRecord, contactSchema, recordFromHistory } from './contact-record.js';
import { CONTACT_PAGE, type ContactRow, ContactsTable } from './contacts-table.js';

@Operation({
  name: 'contact.list-contacts',
  summary: 'List contacts',
  answers: contactSchema,
  list: true,
  fieldScopes: FILTER_SCOPES,
})
export class ListContacts extends Paged(ContactFilters, 'email') {
  @Timestamp({
    optional: true,
    description:
      'Returns the contacts of a list or a tag as they were at this time, in the order in which they were ' +
      'added. Requires `listId` or `tagId`, and no other filter. Data of contacts who have since been ' +
      'erased is null.',
  })
  asOf?: string;
}

@QueryHandler(ListContacts)
export class ListContactsHandler implements IQueryHandler<ListContacts> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly contacts: ContactsTable,
    private readonly fields: CustomFields,
    private readonly histories: RecordReader,
  ) {}

  async execute(query: ListContacts): Promise<Page<ContactRecord> | PastRecord<Page<ContactRecord>>> {
    const past = await this.histories.past(query.asOf);
    if (past) return new PastRecord(await this.pastPage(query, past), past);
    const conditions = await contactConditions(query, this.resources);
    const listing = listingOf(query);
    const { rows, next } = await findRows<ContactRow>(this.reads, listing, CONTACT_PAGE, { conditions });
    const records = rows.map((row) => this.contacts.record(row));
    await this.fields.name(query.organizationId, records);
    return pageOf(query, records, next);
  }

  private async pastPage(query: ListContacts, past: Past): Promise<Page<ContactRecord>> {
    const { organizationId } = query;
    const { resource, id: within } = membersOf(query);
    requireCreationOrder(query);
    resource.existing((await this.histories.look(resource.decider, organizationId, within, past)).state);
    const list = linksOf(resource);
    const listing = { ...until(listingOf(query), past), within };
    const conditions = [activeAt(list.table, false, past)];
    const { rows, next } = await findRows<{ id: string }>(this.reads, listing, list, {
      conditions,
    });
    // Not from the rows, which an erasure or a merge separates from the contact.
    const linkIds = rows.map(({ id }) => id);
    const links = await this.histories.lookMany(resource.link!.decider, organizationId, linkIds, past);
    const ids = linkIds.flatMap((id) => {
      const link = links.get(id)?.state;
      return link && link.status !== 'unknown' ? [link.subjectId] : [];
    });
    const then = await this.histories.lookMany(contact, organizationId, ids, past);
    const records = ids.flatMap((id) => {
      const folded = then.get(id);
      return folded?.state.status === 'standing' ? [recordFromHistory(organizationId, id, folded)] : [];
    });
    await this.fields.name(organizationId, records, past);
    return pageOf(query, records, next);
  }
}

/** For `findRows`: the links of one record. */
function linksOf({ linkTable }: Resource): ListedTable {
  return {
    table: linkTable!,
    columns: `id, ${momentAsText('page.created_at')} AS created_at`,
    bytes: '16',
    widest: 100,
    within: { sql: 'record_id = ?', type: 'uuid' },
  };
}
