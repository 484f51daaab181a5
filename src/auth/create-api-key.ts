import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { newId } from '#libs/random';
import { Commands, type Decision, writeTo } from '#libs/commands';
import { EventStore, type Keyring, type StreamWrite } from '#libs/event-store';
import {
  allScopes,
  currentScope,
  Input,
  Integer,
  invalid,
  Operation,
  type RpcError,
  storedScope,
  Text,
  Timestamp,
  WordsOf,
} from '#libs/rpc';
import { newApiKeySchema } from './api-key-record.js';
import { apiKey, type ApiKeyDetails, createApiKey, DEFAULT_RATE_LIMIT, type RateLimit } from './api-key.js';
import { requestsPerSecond, requireWithin } from './delegation.js';
import { type KeysNow, MAX_LIVE_KEYS, OrganizationKeys, tooManyKeys } from './organization-keys.js';
import { makeKey } from './secret.js';

@Operation({
  name: 'api-key.create-api-key',
  summary: 'Create an API key',
  description:
    'The response contains the key only once: repeating the request returns the same `apiKeyId` with `key: ' +
    'null`. If you lost the response, rotate the key. A key can grant only scopes that it has, and at most its ' +
    'own rate limit and lifetime. When a key is revoked, all keys that it created end with it. An organization ' +
    `can have up to ${MAX_LIVE_KEYS} live keys.`,
  answers: newApiKeySchema,
  reasons: ['KEY_EXCEEDS_YOURS', 'KEY_LIMIT_REACHED'],
})
export class CreateApiKey extends Input {
  @Text({ max: 200, example: 'Website' })
  name!: string;

  @WordsOf(
    allScopes,
    { default: ['*'], description: '`*` grants all scopes.', example: ['contact:read'] },
    currentScope,
  )
  scopes!: string[];

  @Integer({
    min: 1,
    max: 1_000,
    optional: true,
    documentedDefault: DEFAULT_RATE_LIMIT,
    description: 'Requests per second, up to the limit of the key that creates it.',
  })
  rateLimit?: RateLimit;

  @Timestamp({
    optional: true,
    description: 'A time in the future. Default: when the creating key expires, or never.',
  })
  expiresAt?: string | null;
}

@CommandHandler(CreateApiKey)
export class CreateApiKeyHandler implements ICommandHandler<CreateApiKey> {
  constructor(
    private readonly commands: Commands,
    private readonly keys: OrganizationKeys,
    private readonly store: EventStore,
  ) {}

  async execute(command: CreateApiKey): Promise<{ apiKeyId: string; key: string | null }> {
    const { context, organizationId, name } = command;
    const own = await this.keys.ownOf(context);
    // Normalized before requests are compared: defaults, order and time offset make no difference.
    command.scopes = allScopes()
      .filter((scope) => command.scopes.includes(scope))
      .map(storedScope);
    command.rateLimit ??= Math.min(DEFAULT_RATE_LIMIT, requestsPerSecond(own?.rateLimit ?? null));
    const expiresAt = command.expiresAt ?? own?.expiresAt ?? null;
    if (expiresAt !== null) command.expiresAt = new Date(expiresAt).toISOString();

    const { scopes, rateLimit } = command;
    const details = { name, scopes, rateLimit, expiresAt: command.expiresAt ?? null };
    if (own) {
      requireWithin(own, details, {
        scopes: `Choose from these scopes: ${own.scopes.map(currentScope).join(', ')}.`,
        rateLimit: 'Set that limit or a lower one.',
        expiresAt: 'Set that time or an earlier one.',
      });
    }
    const { apiKeyId, key, write } = newApiKey(this.store.keyring, details);
    // Networks repeat requests. Operators who run a command twice want two keys, and may test an expired one.
    const isRequest = context.actor.type !== 'system';
    const creates = this.commands.named(
      apiKey,
      organizationId,
      (state) => state.status === 'active' && state.name === name,
    );
    const decide = async (): Promise<Decision> => {
      if (!isRequest) return { recordId: apiKeyId, writes: [write] };
      const keys = await this.keys.read(organizationId);
      const refusal = refusalOf(details, keys);
      if (refusal) {
        const made = await this.commands.findTwin(command, creates);
        if (made !== undefined) return { recordId: made, writes: [] };
        throw refusal;
      }
      const guards = await this.keys.guardOf(context, keys);
      return { recordId: apiKeyId, creates, writes: [write], guards, claims: [keys.claim(decide)] };
    };
    const { recordId } = await this.commands.run(command, decide);
    return { apiKeyId: recordId, key: recordId === apiKeyId ? key : null };
  }
}

/** The reasons against a new key, unless a repeated request already created it. */
function refusalOf({ expiresAt }: Pick<ApiKeyDetails, 'expiresAt'>, keys: KeysNow): RpcError | undefined {
  if (expiresAt !== null && !isInFuture(new Date(expiresAt), keys.now)) {
    return invalid([{ path: 'expiresAt', message: 'must be in the future and before the year 10000' }]);
  }
  return keys.live < MAX_LIVE_KEYS ? undefined : tooManyKeys(keys);
}

function isInFuture(moment: Date, now: Date): boolean {
  return moment > now && moment.getUTCFullYear() < 10_000;
}

/** A key to store with its creator's events. `key` is the value its owner receives, once. */
export function newApiKey(
  keyring: Keyring,
  details: Omit<ApiKeyDetails, 'publicId' | 'secretHash'>,
): {
  apiKeyId: string;
  key: string;
  write: StreamWrite;
} {
  const apiKeyId = newId();
  const { key, publicId, secretHash } = makeKey(keyring);
  const write = writeTo(apiKey, apiKeyId, 0, createApiKey({ ...details, publicId, secretHash }));
  return { apiKeyId, key, write };
}
