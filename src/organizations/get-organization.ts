import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import { organization } from './organization.js';
import { publicLog, publicLogId } from './public-log.js';
import { sender, senderId } from './sender.js';

@Operation({
  method: 'GET',
  name: 'organization.get-organization',
  object: 'organization',
  summary: 'Retrieve your organization',
  answers: organizationSchema,
})
export class GetOrganization extends Input {
  @Timestamp({ optional: true, description: 'The organization as it was at this moment.' })
  asOf?: string;
}

@QueryHandler(GetOrganization)
export class GetOrganizationHandler implements IQueryHandler<GetOrganization> {
  constructor(private readonly records: RecordReader) {}

  async execute({
    organizationId,
    asOf,
  }: GetOrganization): Promise<OrganizationRecord | PastRecord<OrganizationRecord>> {
    const past = await this.records.past(asOf);
    const folded = await this.records.look(organization, organizationId, organizationId, past);
    const log = await this.records.look(publicLog, organizationId, publicLogId(organizationId), past);
    const mail = await this.records.look(sender, organizationId, senderId(organizationId), past);
    const record = organizationRecord(organizationId, folded, log, mail);
    return past ? new PastRecord(record, past) : record;
  }
}
