import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Commands, RecordReader } from '#libs/commands';
import {
  Email,
  Id,
  Input,
  Operation,
  PastRecord,
  rejectWithPast,
  RpcError,
  Text,
  Timestamp,
  WordsOf,
} from '#libs/rpc';
import { type Past } from '#libs/event-store';
import { type ContactRecord, contactSchema, recordFromHistory } from './contact-record.js';
import { contact, hasEmail } from './contact.js';
import { emailKeys } from './contact-address.js';
import { LONGEST_EXTERNAL_ID } from './contact-columns.js';
import { externalIdKey } from './external-ids.js';
import { CustomFields } from '../fields/index.js';
import { ContactsTable } from './contacts-table.js';
import { contactParts, MOST_INCLUDED, PART_SCOPES, PartReads, partSchemas } from './parts/contact-parts.js';

@Operation({
  name: 'contact.get-contact',
  summary: 'Retrieve a contact',
  description:
    'Send exactly one of `contactId`, `externalId` and `email`. With `include`, the response also contains related records, such as tags. To list the rest, use tag.list-tags, ' +
    'list.list-lists, note.list-notes, petition.list-signatures or contact.list-consents with `contactId`.',
  exactlyOne: ['contactId', 'externalId', 'email'],
  answers: {
    ...contactSchema,
    get properties() {
      return { ...contactSchema.properties, ...partSchemas() };
    },
  },
  fieldScopes: PART_SCOPES,
  reasons: ['MERGED'],
})
export class GetContact extends Input {
  @Id({ optional: true })
  contactId?: string;

  @Text({
    max: LONGEST_EXTERNAL_ID,
    optional: true,
    namesRecord: true,
    example: 'civicrm:123',
    description: "One of the contact's `externalIds`.",
  })
  externalId?: string;

  @Email({ optional: true, description: 'Compared with the same rules as in create-contact.' })
  email?: string;

  @Id({
    description: "Your key's organization.",
    ifMissing: 'organization.get-organization returns it as id',
  })
  override organizationId!: string;

  @Timestamp({ optional: true, description: 'Returns the contact as it was at this time.' })
  asOf?: string;

  @WordsOf(() => [...contactParts().keys()], {
    optional: true,
    description: `Adds the newest ${MOST_INCLUDED} of each. Not with \`asOf\`.`,
  })
  include?: string[];
}

/** With the id of the contact that the query names. */
type Found = GetContact & { contactId: string };
type FoundContact = ContactRecord & { [part: string]: unknown };

@QueryHandler(GetContact)
export class GetContactHandler implements IQueryHandler<GetContact> {
  constructor(
    private readonly records: RecordReader,
    private readonly contacts: ContactsTable,
    private readonly from: PartReads,
    private readonly fields: CustomFields,
    private readonly commands: Commands,
  ) {}

  async execute(query: GetContact): Promise<FoundContact | PastRecord<ContactRecord>> {
    rejectWithPast(query, ['include']);
    const contactId = await this.idOf(query);
    const record = await this.find({ ...query, contactId });
    return record instanceof PastRecord
      ? record
      : { ...record, ...(await this.partsOf({ ...query, contactId })) };
  }

  /** @throws RpcError NOT_FOUND if no contact has the id or address now. */
  private async idOf({ organizationId, contactId, externalId, email }: GetContact): Promise<string> {
    if (contactId !== undefined) return contactId;
    if (externalId !== undefined) {
      const [owner] = await this.commands.findOwners(organizationId, [externalIdKey(externalId)]);
      if (owner === undefined) throw noneHas('externalId');
      return owner;
    }
    const owners = await this.commands.findOwners(organizationId, emailKeys(email!));
    const owner = owners.find((id) => id !== undefined);
    // An old key may have remained.
    const { state } = await this.records.look(contact, organizationId, owner ?? '');
    if (owner === undefined || !hasEmail(state, email!)) throw noneHas('email');
    return owner;
  }

  private async partsOf({ organizationId, contactId, include = [] }: Found): Promise<object> {
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
  }: Found): Promise<ContactRecord | PastRecord<ContactRecord>> {
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

function noneHas(field: string): RpcError {
  return new RpcError('NOT_FOUND', `No contact in your organization has this ${field}.`);
}
