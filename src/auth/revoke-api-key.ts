import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { apiKeyIdSchema } from './api-key-record.js';
import { type ApiKey, apiKey, revokeApiKey } from './api-key.js';

@Operation({
  method: 'DELETE',
  name: 'api-key.revoke-api-key',
  object: 'api-key',
  summary: 'Revoke an API key',
  description: 'Every instance refuses it within a second. It stays in the list.',
  answers: apiKeyIdSchema,
})
export class RevokeApiKey extends Input {
  @Id()
  apiKeyId!: string;
}

@CommandHandler(RevokeApiKey)
export class RevokeApiKeyHandler implements ICommandHandler<RevokeApiKey> {
  constructor(private readonly commands: Commands) {}

  async execute(command: RevokeApiKey): Promise<{ apiKeyId: string }> {
    const { apiKeyId } = command;
    const decide = (state: ApiKey) => revokeApiKey(state, new Date());
    await this.commands.end(apiKey, command, apiKeyId, decide);
    return { apiKeyId };
  }
}
