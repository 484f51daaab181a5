import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { Id, Input, Integer, Operation } from '#libs/rpc';
import { newApiKeySchema } from './api-key-record.js';
import { apiKey, knownApiKey, rotateApiKey } from './api-key.js';
import { newApiKey } from './create-api-key.js';

const MAX_OVERLAP_SECONDS = 86_400;
import { requireWithin } from './delegation.js';
import { MAX_LIVE_KEYS, OrganizationKeys, tooManyKeys } from './organization-keys.js';

@Operation({
  name: 'api-key.rotate-api-key',
  summary: 'Rotate an API key',
  description:
    "The new key has the old key's name, scopes, rate limit and expiry. The old key ends after `overlapSeconds`. " +
    'Keys that the old key created stay active and end with the new one. A key can rotate another key only if it ' +
    'has all scopes of that key, and at least the same rate limit and lifetime. A key can always rotate itself; if ' +
    'it is then revoked, its successor ends with it. Both keys share one rate limit. The response contains the new key only once: ' +
    'repeating the request returns the same `apiKeyId` with `key: null`. If you lost the response, rotate the ' +
    'new key.',
  answers: newApiKeySchema,
  reasons: ['KEY_ENDED', 'KEY_ROTATED', 'KEY_EXCEEDS_YOURS', 'KEY_LIMIT_REACHED'],
})
export class RotateApiKey extends Input {
  @Id({ description: 'The key to replace.' })
  apiKeyId!: string;

  @Integer({
    min: 0,
    max: MAX_OVERLAP_SECONDS,
    default: 0,
    description:
      'How long the old key works next to the new one. Required when a key replaces itself: otherwise, a lost ' +
      'response would lock you out.',
  })
  overlapSeconds!: number;
}

@CommandHandler(RotateApiKey)
export class RotateApiKeyHandler implements ICommandHandler<RotateApiKey> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly keys: OrganizationKeys,
    private readonly store: EventStore,
  ) {}

  async execute(command: RotateApiKey): Promise<{ apiKeyId: string; key: string | null }> {
    const { context, organizationId, apiKeyId, overlapSeconds } = command;
    const own = await this.keys.ownOf(context);
    const isItself = context.actor.id === apiKeyId;
    const made = new Map<string, string>();
    const decide = async (): Promise<Decision> => {
      const keys = await this.keys.read(organizationId);
      const { state, version } = await this.records.load(apiKey, organizationId, apiKeyId);
      const old = knownApiKey(state);
      if (own && !isItself) requireWithin(own, old, ADVICE);

      const { name, scopes, rateLimit, expiresAt } = old;
      const successor = newApiKey(this.store.keyring, { name, scopes, rateLimit, expiresAt });
      const successorId = successor.apiKeyId;
      const events = rotateApiKey(state, { successorId, overlapSeconds, now: keys.now });
      if (old.status === 'rotated') return { recordId: old.successorId, writes: [] };
      // During the overlap, the old and the new key both count.
      if (own && overlapSeconds > 0 && keys.live >= MAX_LIVE_KEYS) throw tooManyKeys(keys);
      made.set(successorId, successor.key);
      return {
        recordId: successorId,
        writes: [writeTo(apiKey, apiKeyId, version, events), successor.write],
        guards: isItself ? [] : await this.keys.guardOf(context, keys),
        // Releases the request that created the old key, so that repeating it creates a new key.
        releasesAll: [apiKeyId],
        claims: [keys.claim(decide)],
      };
    };
    const { recordId } = await this.commands.run(command, decide);
    return { apiKeyId: recordId, key: made.get(recordId) ?? null };
  }
}

const advice = 'Rotate it with a key that has at least the same rights, or with itself.';
const ADVICE = {
  scopes: 'Rotate it with a key that has these scopes.',
  rateLimit: advice,
  expiresAt: advice,
};
