import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Id, Input, invalid, Operation, PastRecord, Timestamp, WordsOf } from '#libs/rpc';
import { type Past } from '#libs/event-store';
import { type ContactRecord, contactSchema, recordFromHistory } from './contact-record.js';
import { contact } from './contact.js';
import { CustomFields } from '../fields/index.js';
import { ContactsTable } from './contacts-table.js';
import { contactParts, MOST_INCLUDED, PART_SCOPES, PartReads, partSchemas } from './parts/contact-parts.js';

@Operation({
  method: 'GET',
  name: 'contact.get-contact',
  object: 'contact',
  summary: 'Retrieve a contact',
  description:
    'With `include`, the response also contains what belongs to the contact. To list the rest, use tag.list-tags, ' +
    'list.list-lists, petition.list-signatures or contact.list-consents with `contactId`.',
  answers: {
    ...contactSchema,
    get properties() {
      return { ...contactSchema.properties, ...partSchemas() };
    },
  },
  fieldScopes: PART_SCOPES,
})
export class GetContact extends Input {
  @Id()
  contactId!: string;

  @Id({ description: "Your key's organization." })
  override organizationId!: string;

  @Timestamp({ optional: true, description: 'Returns the contact as it was at this time.' })
  asOf?: string;

  @WordsOf(() => [...contactParts().keys()], {
    optional: true,
    description: `Adds the newest ${MOST_INCLUDED} of each. Not with \`asOf\`.`,
  })
  include?: string[];
}

type FoundContact = ContactRecord & { [part: string]: unknown };

@QueryHandler(GetContact)
export class GetContactHandler implements IQueryHandler<GetContact> {
  constructor(
    private readonly records: RecordReader,
    private readonly contacts: ContactsTable,
    private readonly from: PartReads,
    private readonly fields: CustomFields,
  ) {}

  async execute(query: GetContact): Promise<FoundContact | PastRecord<ContactRecord>> {
    const { asOf, include = [] } = query;
    if (asOf !== undefined && include.length > 0)
      throw invalid([{ path: 'include', message: 'must be omitted with asOf, which returns the past' }]);
    const record = await this.find(query);
    return record instanceof PastRecord ? record : { ...record, ...(await this.partsOf(query)) };
  }

  private async partsOf({ organizationId, contactId, include = [] }: GetContact): Promise<object> {
    const query = { organizationId, contactId, limit: MOST_INCLUDED };
    // One after another, so that a request occupies one connection.
    const found: [string, object][] = [];
    for (const name of include) {
      const { records, pagination } = await contactParts().get(name)!.page(this.from, query);
      found.push([name, { data: records, hasMore: pagination.hasMore }]);
    }
    return Object.fromEntries(found);
  }

  private async find({
    organizationId,
    contactId,
    asOf,
  }: GetContact): Promise<ContactRecord | PastRecord<ContactRecord>> {
    const record = asOf === undefined ? await this.contacts.find(organizationId, contactId) : undefined;
    if (record) return this.named(record);
    const past = await this.records.past(asOf);
    const folded = await this.records.look(contact, organizationId, contactId, past);
    const found = await this.named(recordFromHistory(organizationId, contactId, folded), past);
    return past ? new PastRecord(found, past) : found;
  }

  private async named(record: ContactRecord, past?: Past): Promise<ContactRecord> {
    await this.fields.name(record.organizationId, [record], past);
    return record;
  }
}
