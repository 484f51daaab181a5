import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { hasScope, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import { organization } from './organization.js';
import { mailHookOf } from '../suppressions/index.js';
import { publicLog, publicLogId } from './public-log.js';
import { SiteAddress } from './site-address.js';
import { sender, senderId } from './sender.js';

@Operation({
  name: 'organization.get-organization',
  summary: 'Retrieve your organization',
  answers: organizationSchema,
})
export class GetOrganization extends Input {
  @Timestamp({ optional: true, description: 'Returns the organization as it was at this time.' })
  asOf?: string;
}

@QueryHandler(GetOrganization)
export class GetOrganizationHandler implements IQueryHandler<GetOrganization> {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
    private readonly addresses: SiteAddress,
  ) {}

  async execute({
    organizationId,
    asOf,
    context,
  }: GetOrganization): Promise<OrganizationRecord | PastRecord<OrganizationRecord>> {
    const past = await this.records.past(asOf);
    const folded = await this.records.look(organization, organizationId, organizationId, past);
    const log = await this.records.look(publicLog, organizationId, publicLogId(organizationId), past);
    const mail = await this.records.look(sender, organizationId, senderId(organizationId), past);
    const mayReport = hasScope(context.scopes, 'organization:write');
    const mailHook = mayReport ? mailHookOf(this.store.keyring, organizationId) : null;
    const url = await this.addresses.of(organizationId);
    const record = organizationRecord(organizationId, folded, log, mail, { mailHook, url });
    return past ? new PastRecord(record, past) : record;
  }
}
