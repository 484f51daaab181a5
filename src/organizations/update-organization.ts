import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { changedFields, Commands, RecordReader, Requests, writeTo } from '#libs/commands';
import { Email, Flag, Input, Operation, Text } from '#libs/rpc';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import {
  organization,
  type OrganizationEvent,
  type OrganizationFields,
  standingOrganization,
} from './organization.js';
import { publicLog, publicLogId, publishLog } from './public-log.js';

@Operation({
  method: 'POST',
  name: 'organization.update-organization',
  object: 'organization',
  summary: 'Change your organization',
  description: 'Only the fields given are changed; `null` clears an optional one.',
  // Whoever publishes the log may read it from then on.
  fieldScopes: { publicLog: 'event:read' },
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

  @Flag({
    optional: true,
    description:
      'Whether everybody may read `/log/…`, without a key: checkpoints, positions and digests, nothing of what events say.',
  })
  publicLog?: boolean;
}

@CommandHandler(UpdateOrganization)
export class UpdateOrganizationHandler implements ICommandHandler<UpdateOrganization> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
  ) {}

  async execute(command: UpdateOrganization): Promise<OrganizationRecord> {
    const { context, organizationId, publicLog: isPublic, ...given } = command;
    const logId = publicLogId(organizationId);
    let logVersion: number | undefined;
    const changed = await this.commands.change(
      organization,
      command,
      organizationId,
      (state): OrganizationEvent[] => {
        const data = changedFields<OrganizationFields>(standingOrganization(state), given);
        return data ? [{ type: 'OrganizationUpdated', data }] : [];
      },
      async ({ version }, events) => {
        const log = await this.records.load(publicLog, organizationId, logId);
        const logEvents = publishLog(log.state, isPublic);
        logVersion = log.version + logEvents.length;
        return {
          writes: [
            writeTo(organization, organizationId, version, events),
            writeTo(publicLog, logId, log.version, logEvents),
          ],
        };
      },
    );
    // A repeated Idempotency-Key is answered with the log as it was, too: its version is kept with the key.
    const version = await this.requests.figure(
      command,
      async () => logVersion ?? (await this.records.look(publicLog, organizationId, logId)).version,
    );
    const log = await this.records.look(publicLog, organizationId, logId, { version });
    return organizationRecord(organizationId, changed, log);
  }
}
