import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Email, Flag, Operation, type Page, PageInput, Text } from '#libs/rpc';
import { type ContactRecord, contactSchema } from './contact-record.js';
import { ContactsTable } from './contacts.projection.js';

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

  @Text({ max: 200, optional: true, description: 'Part of a name or of an e-mail address.' })
  q?: string;
}

@QueryHandler(ListContacts)
export class ListContactsHandler implements IQueryHandler<ListContacts> {
  constructor(private readonly contacts: ContactsTable) {}

  execute(query: ListContacts): Promise<Page<ContactRecord>> {
    return this.contacts.list(query);
  }
}
