import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { newApiKey } from '../auth/index.js';
import { Commands } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Input } from '#libs/rpc';
import { createOrganization, organization } from './organization.js';

/**
 * Creates an organization with its first key, which has all rights. `organizationId` is the id of the new
 * organization.
 */
export class CreateOrganization extends Input {
  name!: string;
}

@CommandHandler(CreateOrganization)
export class CreateOrganizationHandler implements ICommandHandler<CreateOrganization> {
  constructor(
    private readonly commands: Commands,
    private readonly store: EventStore,
  ) {}

  async execute(
    command: CreateOrganization,
  ): Promise<{ organizationId: string; apiKeyId: string; key: string }> {
    const { organizationId, name } = command;
    const first = newApiKey(this.store.keyring, {
      name: 'First key',
      scopes: ['*'],
      rateLimit: null,
      expiresAt: null,
    });
    await this.commands.run(command, () => ({
      recordId: organizationId,
      writes: [
        {
          streamType: organization.streamType,
          streamId: organizationId,
          expectedVersion: 0,
          events: createOrganization(name),
        },
        first.write,
      ],
    }));
    return { organizationId, apiKeyId: first.apiKeyId, key: first.key };
  }
}
