import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { Operation, RecordInput } from '#libs/rpc';
import { apiKeyIdSchema } from './api-key-record.js';
import { apiKey, knownApiKey, revokeApiKey } from './api-key.js';
import { requireWithin } from './delegation.js';
import { descendantsOf } from './lines.js';
import { OrganizationKeys } from './organization-keys.js';

@Operation({
  name: 'api-key.revoke-api-key',
  summary: 'Revoke an API key',
  description:
    'All instances reject the key within a second, together with every key created with it, directly or ' +
    'indirectly. If the key rotated itself, its successor also ends, unless that successor is the key ' +
    'revoking it. If another key rotated it, the successor and the keys it created stay active. Revoked ' +
    'keys stay in the list. A key can revoke another key only if it has all scopes of that key, and at ' +
    'least the same rate limit and lifetime.',
  answers: apiKeyIdSchema,
  reasons: ['KEY_EXCEEDS_YOURS'],
})
export class RevokeApiKey extends RecordInput('apiKeyId') {}

@CommandHandler(RevokeApiKey)
export class RevokeApiKeyHandler implements ICommandHandler<RevokeApiKey> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly keys: OrganizationKeys,
  ) {}

  async execute(command: RevokeApiKey): Promise<{ apiKeyId: string }> {
    const { context, organizationId, apiKeyId } = command;
    const own = await this.keys.ownOf(context);
    const decide = async (): Promise<Decision> => {
      const keys = await this.keys.read(organizationId);
      const { state, version } = await this.records.load(apiKey, organizationId, apiKeyId);
      const key = knownApiKey(state);
      if (own && context.actor.id !== apiKeyId) requireWithin(own, key, ADVICE);

      const made = await this.records.loadMany(
        apiKey,
        organizationId,
        descendantsOf(keys.origins, apiKeyId, context.actor.id),
      );
      const writes = [...made].map(([id, made]) =>
        writeTo(apiKey, id, made.version, revokeApiKey(made.state, keys.now)),
      );
      writes.unshift(writeTo(apiKey, apiKeyId, version, revokeApiKey(state, keys.now)));
      const changesAny = writes.some(({ events }) => events.length > 0);
      return {
        recordId: apiKeyId,
        writes,
        // Releases the request that created each ended key, so that repeating it creates a new key.
        releasesAll: [apiKeyId, ...made.keys()],
        claims: changesAny ? [keys.claim(decide)] : [],
      };
    };
    await this.commands.run(command, decide);
    return { apiKeyId };
  }
}

const advice = 'Revoke it with a key that has at least the same rights, or with itself.';
const ADVICE = { scopes: advice, rateLimit: advice, expiresAt: advice };
