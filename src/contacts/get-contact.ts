import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Id, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { type ContactRecord, contactSchema, recordFromHistory } from './contact-record.js';
import { contact } from './contact.js';
import { ContactsTable } from './contacts-table.js';

@Operation({
  method: 'GET',
  name: 'contact.get-contact',
  object: 'contact',
  summary: 'Retrieve a contact',
  answers: contactSchema,
})
export class GetContact extends Input {
  @Id()
  contactId!: string;

  @Id({ description: "Your key's organization." })
  override organizationId!: string;

  @Timestamp({ optional: true, description: 'Returns the contact as it was at this time.' })
  asOf?: string;
}

@QueryHandler(GetContact)
export class GetContactHandler implements IQueryHandler<GetContact> {
  constructor(
    private readonly records: RecordReader,
    private readonly contacts: ContactsTable,
  ) {}

  async execute({
    organizationId,
    contactId,
    asOf,
  }: GetContact): Promise<ContactRecord | PastRecord<ContactRecord>> {
    const record = asOf === undefined ? await this.contacts.find(organizationId, contactId) : undefined;
    if (record) return record;
    const past = await this.records.past(asOf);
    const folded = await this.records.look(contact, organizationId, contactId, past);
    const found = recordFromHistory(organizationId, contactId, folded);
    return past ? new PastRecord(found, past) : found;
  }
}
