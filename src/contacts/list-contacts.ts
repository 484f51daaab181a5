import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { compare, Email, findPage, Flag, Id, Operation, type Page, PageInput, search, Text } from '#libs/rpc';
import { ContactGroups } from './contact-groups.js';
import { type ContactRecord, contactSchema } from './contact-record.js';
import { comparableEmail } from './contact.js';
import { CONTACTS_TABLE, type ContactRow, recordFromRow } from './contacts.projection.js';

@Operation({
  method: 'GET',
  name: 'contact.list-contacts',
  object: 'contacts',
  summary: 'List contacts',
  answers: contactSchema,
  list: true,
})
export class ListContacts extends PageInput('email') {
  @Email({ optional: true, description: 'Compared without regard to case.' })
  email?: string;

  @Flag({ optional: true })
  subscribed?: boolean;

  @Text({ max: 500, optional: true })
  country?: string;

  @Text({ max: 500, optional: true })
  city?: string;

  @Text({ max: 500, optional: true })
  zip?: string;

  @Id({ optional: true, description: 'Those on this list.' })
  listId?: string;

  @Id({ optional: true, description: 'Those who signed this petition.' })
  petitionId?: string;

  @Text({ max: 200, optional: true, description: 'Part of a name or of an e-mail address.' })
  q?: string;
}

@QueryHandler(ListContacts)
export class ListContactsHandler implements IQueryHandler<ListContacts> {
  constructor(
    private readonly source: DataSource,
    private readonly groups: ContactGroups,
  ) {}

  async execute(query: ListContacts): Promise<Page<ContactRecord>> {
    const { organizationId, listId, petitionId } = query;
    const groups = await Promise.all([
      listId === undefined ? undefined : this.groups.find('listId').members(organizationId, listId),
      petitionId === undefined
        ? undefined
        : this.groups.find('petitionId').members(organizationId, petitionId),
    ]);
    const { records, pagination } = await findPage<ContactRow>(this.source, query, {
      table: CONTACTS_TABLE,
      sortColumns: { email: { column: 'email_compared', type: 'text' } },
      conditions: [
        compare('email_compared = ?', query.email === undefined ? undefined : comparableEmail(query.email)),
        compare('subscribed = ?', query.subscribed),
        compare('country = ?', query.country),
        compare('city = ?', query.city),
        compare('zip = ?', query.zip),
        ...groups,
        search(['email', 'first_name', 'last_name', `first_name || ' ' || last_name`], query.q),
      ],
    });
    return { records: records.map(recordFromRow), pagination };
  }
}
