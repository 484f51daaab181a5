import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { Commands } from '#libs/commands';
import { type StreamWrite } from '#libs/event-store';
import { Input } from '#libs/rpc';
import { apiKey, createApiKey, type RateLimit } from './api-key.js';
import { makeKey } from './secret.js';

export class CreateApiKey extends Input {
  name!: string;
  scopes!: string[];
  rateLimit!: RateLimit;
  expiresAt!: string | null;
}

@CommandHandler(CreateApiKey)
export class CreateApiKeyHandler implements ICommandHandler<CreateApiKey> {
  constructor(private readonly commands: Commands) {}

  async execute(command: CreateApiKey): Promise<{ apiKeyId: string; key: string }> {
    const { apiKeyId, key, write } = newApiKey(command);
    await this.commands.run(command, () => ({ recordId: apiKeyId, writes: [write] }));
    return { apiKeyId, key };
  }
}

/** A key to be stored with the events of whoever makes it. `key` is what its owner gets, once. */
export function newApiKey(options: Pick<CreateApiKey, 'name' | 'scopes' | 'rateLimit' | 'expiresAt'>): {
  apiKeyId: string;
  key: string;
  write: StreamWrite;
} {
  const { name, scopes, rateLimit, expiresAt } = options;
  const apiKeyId = uuidv7();
  const { key, publicId, secretHash } = makeKey();
  const events = createApiKey({ name, publicId, secretHash, scopes, rateLimit, expiresAt });
  return {
    apiKeyId,
    key,
    write: { streamType: apiKey.streamType, streamId: apiKeyId, expectedVersion: 0, events },
  };
}
