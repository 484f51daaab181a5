import { type Command, InvalidArgumentError } from 'commander';
import { NIL } from 'uuid';
import { schemaOf } from '#libs/projections';
import { isId } from '#libs/rpc';
import { apiKeysProjection, CreateApiKey, RevokeApiKey, SCOPES } from '../auth/index.js';
import { type Runtime } from '../runtime.js';
import { name } from './name.js';
import { input, UsageError, withSession } from './session.js';

export function apiKeyCommands(program: Command): void {
  const apiKeys = program.command('api-key').description('create and revoke API keys');
  apiKeys
    .command('create')
    .description('create an API key for an organization')
    .requiredOption('--organization <id>', 'the organization it belongs to')
    .option('--name <name>', 'what it is for', name, 'Command line')
    .option('--scopes <scopes>', `what it may do, separated by commas: ${SCOPES.join(', ')}`, scopes, ['*'])
    .option('--rate-limit <n>', 'requests per second, 1 to 1000, or "unlimited"; default 10', rateLimit)
    .addHelpText('after', '\nPrints { "apiKeyId", "key" }. The key is shown this once: keep it.')
    .action(
      (options: { organization: string; name: string; scopes: string[]; rateLimit?: number | 'unlimited' }) =>
        withSession(program, async ({ run, requireOrganization }) => {
          const { organization: organizationId, name, scopes, rateLimit = null } = options;
          await requireOrganization(organizationId);
          return run(input(CreateApiKey, organizationId, { name, scopes, rateLimit, expiresAt: null }));
        }),
    );
  apiKeys
    .command('revoke')
    .description('revoke an API key: every instance refuses it within a second')
    .requiredOption('--api-key <key>', 'the apiKeyId that create printed, or the key up to its second "_"')
    .option('--organization <id>', 'revoke it only if it belongs to this organization')
    .addHelpText('after', '\nPrints { "apiKeyId" }. Revoking a revoked key again changes nothing.')
    .action((options: { organization?: string; apiKey: string }) =>
      withSession(program, async ({ run, runtime, requireOrganization }) => {
        if (options.organization !== undefined) await requireOrganization(options.organization);
        const { organizationId, apiKeyId } = await findApiKey(runtime, options.apiKey, options.organization);
        return run(input(RevokeApiKey, organizationId, { apiKeyId }));
      }),
    );
}

/** Finds a key by its id, or by its text: the public part is enough. */
async function findApiKey({ source }: Runtime, key: string, organizationId?: string) {
  const [, publicId] = /^adv_([A-Za-z0-9]{8})(_|$)/.exec(key) ?? [];
  const found = await source.query<{ organizationId: string; apiKeyId: string }[]>(
    `SELECT organization_id AS "organizationId", id AS "apiKeyId" FROM ${schemaOf(apiKeysProjection)}.api_keys
     WHERE ${publicId === undefined ? 'id' : 'public_id'} = $1 AND organization_id = coalesce($2, organization_id)`,
    [publicId ?? (isId(key) ? key : NIL), organizationId ?? null],
  );
  if (found.length === 0) {
    const where = organizationId === undefined ? '' : ' in this organization';
    throw new UsageError(`There is no such API key${where}.`);
  }
  if (found.length > 1) throw new UsageError('Several API keys begin like this: give the apiKeyId.');
  return found[0]!;
}

function scopes(text: string): string[] {
  const asked = text.split(',').map((scope) => scope.trim());
  const unknown = asked.filter((scope) => !SCOPES.includes(scope));
  if (unknown.length > 0) {
    throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. There are: ${SCOPES.join(', ')}.`);
  }
  return [...new Set(asked)];
}

function rateLimit(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 1_000) throw new InvalidArgumentError('Give 1 to 1000, or "unlimited".');
  return limit;
}
