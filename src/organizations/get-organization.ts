import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Input, momentOf, Operation, Timestamp } from '#libs/rpc';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import { organization } from './organization.js';

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
  constructor(private readonly commands: Commands) {}

  async execute({ organizationId, asOf }: GetOrganization): Promise<OrganizationRecord> {
    const folded = await this.commands.load(organization, organizationId, organizationId, momentOf(asOf));
    return organizationRecord(organizationId, folded);
  }
}
