import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { Commands, type Decision, writeTo } from '#libs/commands';
import { type StreamWrite } from '#libs/event-store';
import { Input, Integer, invalid, Operation, Text, Timestamp, WordsOf } from '#libs/rpc';
import { newApiKeySchema } from './api-key-record.js';
import { apiKey, type ApiKeyDetails, createApiKey, DEFAULT_RATE_LIMIT, type RateLimit } from './api-key.js';
import { requireScopes, SCOPES } from './scopes.js';
import { makeKey } from './secret.js';

@Operation({
  method: 'POST',
  name: 'api-key.create-api-key',
  object: 'api-key',
  summary: 'Create an API key',
  description:
    'The key is in the answer, this once: a repeat answers the same `apiKeyId` with `key: null`. If the answer ' +
    'was lost, rotate the key. A key can only grant scopes that it has itself.',
  answers: newApiKeySchema,
  reasons: ['KEY_EXCEEDS_YOURS'],
})
export class CreateApiKey extends Input {
  @Text({ max: 200, example: 'Website' })
  name!: string;

  @WordsOf(SCOPES, { default: ['*'], description: '`*` is everything.', example: ['contact:read'] })
  scopes!: string[];

  @Integer({
    min: 1,
    max: 1_000,
    optional: true,
    documentedDefault: DEFAULT_RATE_LIMIT,
    description: 'Requests per second.',
  })
  rateLimit?: RateLimit;

  @Timestamp({ optional: true, description: 'A moment in the future. Default: never.' })
  expiresAt?: string | null;
}

@CommandHandler(CreateApiKey)
export class CreateApiKeyHandler implements ICommandHandler<CreateApiKey> {
  constructor(private readonly commands: Commands) {}

  async execute(command: CreateApiKey): Promise<{ apiKeyId: string; key: string | null }> {
    const { context, organizationId, name, expiresAt = null } = command;
    const own = context.scopes;
    requireScopes(own, command.scopes, `Give scopes among these: ${own.join(', ')}.`);
    // Before the request is compared with others: with or without the default, in any order and offset it is
    // the same.
    const rateLimit = (command.rateLimit ??= DEFAULT_RATE_LIMIT);
    command.scopes = SCOPES.filter((scope) => command.scopes.includes(scope));
    if (expiresAt !== null) command.expiresAt = new Date(expiresAt).toISOString();

    const details = { name, scopes: command.scopes, rateLimit, expiresAt: command.expiresAt ?? null };
    const { apiKeyId, key, write } = newApiKey(details);
    // Networks repeat requests. Whoever types a command twice wants two keys, and may test an expired one.
    const isRequest = context.actor.type !== 'system';
    const creates = this.commands.named(
      apiKey,
      organizationId,
      (state) => state.status === 'active' && state.name === name,
    );
    const { recordId } = await this.commands.run(command, async (): Promise<Decision> => {
      if (isRequest && expiresAt !== null && !isAhead(new Date(expiresAt))) {
        const made = await this.commands.findTwin(command, creates);
        if (made !== undefined) return { recordId: made, writes: [] };
        throw invalid([{ path: 'expiresAt', message: 'must lie in the future, and before the year 10000' }]);
      }
      return { recordId: apiKeyId, writes: [write], ...(isRequest ? { creates } : {}) };
    });
    return { apiKeyId: recordId, key: recordId === apiKeyId ? key : null };
  }
}

function isAhead(moment: Date): boolean {
  return moment.getTime() > Date.now() && moment.getUTCFullYear() < 10_000;
}

/** A key to be stored with the events of whoever makes it. `key` is what its owner gets, once. */
export function newApiKey(details: Omit<ApiKeyDetails, 'publicId' | 'secretHash'>): {
  apiKeyId: string;
  key: string;
  write: StreamWrite;
} {
  const apiKeyId = uuidv7();
  const { key, publicId, secretHash } = makeKey();
  const write = writeTo(apiKey, apiKeyId, 0, createApiKey({ ...details, publicId, secretHash }));
  return { apiKeyId, key, write };
}
