import { type Command, InvalidArgumentError } from 'commander';
import { name } from './name.js';
import { type Session, UsageError, withSession } from './session.js';

export function apiKeyCommands(program: Command): void {
  const apiKeys = program.command('api-key').description('create, rotate and revoke API keys');
  apiKeys
    .command('create')
    .description('create an API key for an organization')
    .requiredOption('--organization <id>', 'the organization of the key')
    .option('--name <name>', 'a name for the key', name, 'Command line')
    .option(
      '--scopes <scopes>',
      'what the key can do, separated by commas, such as contact:read,petition:write',
      words,
      ['*'],
    )
    .option('--rate-limit <n>', 'requests per second: 1 to 1000, or unlimited (default: 10)', rateLimit)
    .addHelpText('after', '\nPrints { "apiKeyId", "key" }. The key is only shown once. Store it.')
    .action(
      (options: { organization: string; name: string; scopes: string[]; rateLimit?: number | 'unlimited' }) =>
        withSession(program, async ({ run, input, requireOrganization }) => {
          const { CreateApiKey } = await import('../auth/index.js');
          const { allScopes, currentScope } = await import('#libs/rpc');
          const { organization: organizationId, name, scopes, rateLimit = null } = options;
          const asked = scopes.map(currentScope);
          requireKnown(asked, allScopes());
          await requireOrganization(organizationId);
          return run(
            input(CreateApiKey, organizationId, { name, scopes: asked, rateLimit, expiresAt: null }),
          );
        }),
    );
  apiKeys
    .command('rotate')
    .description('replace an API key with a new one that has the same name, scopes, rate limit and expiry')
    .requiredOption('--api-key <key>', 'the apiKeyId, or the key up to its second "_"')
    .option('--organization <id>', 'only if the key belongs to this organization')
    .option('--overlap-seconds <n>', 'how long the old key stays valid, 0 to 86400', overlap, 0)
    .addHelpText(
      'after',
      '\nPrints { "apiKeyId", "key", "replaces", "oldKeyEnds" }. The key is only shown once. Store it. Keys that were created ' +
        'with the old key stay valid.',
    )
    .action((options: { organization?: string; apiKey: string; overlapSeconds: number }) =>
      withSession(program, async (session) => {
        const { organizationId, apiKeyId } = await findApiKey(session, options);
        const { overlapSeconds } = options;
        const { API_KEYS_TABLE, RotateApiKey } = await import('../auth/index.js');
        const command = session.input(RotateApiKey, organizationId, { apiKeyId, overlapSeconds });
        const successor = await session.run<object>(command);
        const [old] = await session.runtime.source.query<{ revoked_at: Date }[]>(
          `SELECT revoked_at FROM ${API_KEYS_TABLE} WHERE organization_id = $1 AND id = $2`,
          [organizationId, apiKeyId],
        );
        return { ...successor, replaces: apiKeyId, oldKeyEnds: old!.revoked_at };
      }),
    );
  apiKeys
    .command('revoke')
    .description('revoke an API key; every instance rejects it within a second')
    .requiredOption('--api-key <key>', 'the apiKeyId, or the key up to its second "_"')
    .option('--organization <id>', 'only if the key belongs to this organization')
    .addHelpText(
      'after',
      '\nPrints { "apiKeyId", "endedWithIt" }. Keys that were created with this key, or replaced it when it rotated itself, are ' +
        'revoked too. Revoking a revoked key again changes nothing.',
    )
    .action((options: { organization?: string; apiKey: string }) =>
      withSession(program, async (session) => {
        const { organizationId, apiKeyId } = await findApiKey(session, options);
        const { API_KEYS_TABLE, RevokeApiKey } = await import('../auth/index.js');
        const command = session.input(RevokeApiKey, organizationId, { apiKeyId });
        const revoked = await session.run<object>(command);
        const ended = await session.runtime.source.query<{ id: string; name: string }[]>(
          revokedWith(API_KEYS_TABLE),
          [organizationId, apiKeyId, command.context.requestId],
        );
        return { ...revoked, endedWithIt: ended };
      }),
    );
}

/** Selects the other keys that a command revoked. Finds the events by stream, because request ids have no index. */
const revokedWith = (API_KEYS_TABLE: string) => `
  SELECT k.id, k.name FROM ${API_KEYS_TABLE} k
  WHERE k.organization_id = $1 AND k.id <> $2 AND EXISTS (
    SELECT FROM events e
    WHERE e.organization_id = k.organization_id AND e.stream_id = k.id
      AND e.type = 'ApiKeyRevoked' AND e.metadata->>'requestId' = $3
  )
  ORDER BY k.created_at, k.id`;

/** Finds an API key by its id or by its text. The public part of the text is enough. */
async function findApiKey(
  { runtime: { source }, requireOrganization }: Session,
  { apiKey: key, organization: organizationId }: { apiKey: string; organization?: string },
) {
  if (organizationId !== undefined) await requireOrganization(organizationId);
  const { API_KEYS_TABLE } = await import('../auth/index.js');
  const { isId } = await import('#libs/rpc');
  const [, publicId] = /^adv_([A-Za-z0-9]{8})(_|$)/.exec(key) ?? [];
  const found = await source.query<{ organizationId: string; apiKeyId: string }[]>(
    `SELECT organization_id AS "organizationId", id AS "apiKeyId" FROM ${API_KEYS_TABLE}
     WHERE ${publicId === undefined ? 'id' : 'public_id'} = $1 AND organization_id = coalesce($2, organization_id)`,
    [publicId ?? (isId(key) ? key : null), organizationId ?? null],
  );
  if (found.length === 0) {
    const where = organizationId === undefined ? '' : ' in this organization';
    throw new UsageError(`No such API key exists${where}.`);
  }
  if (found.length > 1) throw new UsageError('Several API keys start like this. Use the apiKeyId.');
  return found[0]!;
}

function words(text: string): string[] {
  return [...new Set(text.split(',').map((word) => word.trim()))];
}

/** Call it only after the operations are loaded, because they define the scopes. @throws UsageError */
function requireKnown(asked: readonly string[], all: readonly string[]): void {
  const unknown = asked.filter((scope) => !all.includes(scope));
  if (unknown.length === 0) return;
  throw new UsageError(`Unknown scopes: ${unknown.join(', ')}. Available scopes: ${all.join(', ')}.`);
}

function rateLimit(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 1_000) throw new InvalidArgumentError('Enter 1 to 1000, or unlimited.');
  return limit;
}

/** The limit of `RotateApiKey`, which is not loaded yet. */
const LONGEST_OVERLAP_SECONDS = 86_400;

function overlap(text: string): number {
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(seconds <= LONGEST_OVERLAP_SECONDS)) {
    throw new InvalidArgumentError(`Enter 0 to ${LONGEST_OVERLAP_SECONDS} seconds.`);
  }
  return seconds;
}
