import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, writeTo } from '#libs/commands';
import { Id, Input, Integer, Operation } from '#libs/rpc';
import { newApiKeySchema } from './api-key-record.js';
import { apiKey, knownApiKey, rotateApiKey } from './api-key.js';
import { newApiKey } from './create-api-key.js';
import { requireScopes } from './scopes.js';

export const LONGEST_OVERLAP_SECONDS = 86_400;

@Operation({
  method: 'POST',
  name: 'api-key.rotate-api-key',
  object: 'api-key',
  summary: 'Replace an API key',
  description:
    'The new key has the name, scopes, rate limit and expiry of the old one, which ends after `overlapSeconds`. ' +
    'The new key is in the answer, this once: a repeat answers the same `apiKeyId` with `key: null`. If the ' +
    'answer was lost, rotate the new one.',
  answers: newApiKeySchema,
  reasons: ['KEY_ENDED', 'KEY_ROTATED', 'KEY_EXCEEDS_YOURS'],
})
export class RotateApiKey extends Input {
  @Id({ description: 'The key to be replaced.' })
  apiKeyId!: string;

  @Integer({
    min: 0,
    max: LONGEST_OVERLAP_SECONDS,
    default: 0,
    description:
      'How long the old key works beside the new one. A key that replaces itself needs some: without, it is shut ' +
      'out when the answer is lost.',
  })
  overlapSeconds!: number;
}

@CommandHandler(RotateApiKey)
export class RotateApiKeyHandler implements ICommandHandler<RotateApiKey> {
  constructor(private readonly commands: Commands) {}

  async execute(command: RotateApiKey): Promise<{ apiKeyId: string; key: string | null }> {
    const { context, organizationId, apiKeyId, overlapSeconds } = command;
    const made = new Map<string, string>();
    const { recordId } = await this.commands.run(command, async (): Promise<Decision> => {
      const { state, version } = await this.commands.load(apiKey, organizationId, apiKeyId);
      const old = knownApiKey(state);
      requireScopes(context.scopes, old.scopes, 'Rotate it with a key that has them.');

      const { name, scopes, rateLimit, expiresAt } = old;
      const successor = newApiKey({ name, scopes, rateLimit, expiresAt });
      const successorId = successor.apiKeyId;
      const events = rotateApiKey(state, { successorId, overlapSeconds, now: new Date() });
      if (old.status === 'rotated') return { recordId: old.successorId, writes: [] };
      made.set(successorId, successor.key);
      return {
        recordId: successorId,
        writes: [writeTo(apiKey, apiKeyId, version, events), successor.write],
        // The request that created the old key may be made again, for another one.
        ends: [apiKeyId],
      };
    });
    return { apiKeyId: recordId, key: made.get(recordId) ?? null };
  }
}
