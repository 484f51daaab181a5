import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Input } from '#libs/rpc';
import { apiKey, revokeApiKey } from './api-key.js';

export class RevokeApiKey extends Input {
  apiKeyId!: string;
}

@CommandHandler(RevokeApiKey)
export class RevokeApiKeyHandler implements ICommandHandler<RevokeApiKey> {
  constructor(private readonly commands: Commands) {}

  async execute(command: RevokeApiKey): Promise<{ apiKeyId: string }> {
    const { organizationId, apiKeyId } = command;
    await this.commands.run(command, async () => {
      const { state, version } = await this.commands.load(apiKey, organizationId, apiKeyId);
      const events = revokeApiKey(state);
      return {
        recordId: apiKeyId,
        writes: [{ streamType: apiKey.streamType, streamId: apiKeyId, expectedVersion: version, events }],
      };
    });
    return { apiKeyId };
  }
}
