import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { changedFields, Commands } from '#libs/commands';
import { Email, Input, Operation, Text } from '#libs/rpc';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import {
  organization,
  type OrganizationEvent,
  type OrganizationFields,
  standingOrganization,
} from './organization.js';

@Operation({
  method: 'POST',
  name: 'organization.update-organization',
  object: 'organization',
  summary: 'Change your organization',
  description: 'Only the fields given are changed; `null` clears an optional one.',
  answers: organizationSchema,
})
export class UpdateOrganization extends Input {
  @Text({ max: 200, optional: true, example: 'Clean Rivers' })
  name?: string;

  @Text({ max: 500, optional: true, nullable: true, example: 'https://rivers.example.org' })
  website?: string | null;

  @Email({ optional: true, nullable: true, example: 'office@rivers.example.org' })
  email?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  country?: string | null;
}

@CommandHandler(UpdateOrganization)
export class UpdateOrganizationHandler implements ICommandHandler<UpdateOrganization> {
  constructor(private readonly commands: Commands) {}

  async execute(command: UpdateOrganization): Promise<OrganizationRecord> {
    const { context, organizationId, ...given } = command;
    const changed = await this.commands.change(
      organization,
      command,
      organizationId,
      (state): OrganizationEvent[] => {
        const data = changedFields<OrganizationFields>(standingOrganization(state), given);
        return data ? [{ type: 'OrganizationUpdated', data }] : [];
      },
    );
    return organizationRecord(organizationId, changed);
  }
}
