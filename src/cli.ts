import { Command, InvalidArgumentError } from 'commander';
import { NestFactory } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import { NIL, v7 as uuidv7 } from 'uuid';
import { Commands } from '#libs/commands';
import { describeError } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { type Input, type InputClass, isId, systemInput } from '#libs/rpc';
import { AppModule } from './app.module.js';
import {
  API_KEYS_TABLE,
  CreateApiKey,
  LONGEST_OVERLAP_SECONDS,
  RevokeApiKey,
  RotateApiKey,
  SCOPES,
} from './auth/index.js';
import { loadConfig } from './config.js';
import { CreateOrganization, organization } from './organizations/index.js';
import { openRuntime, type Runtime } from './runtime.js';

/** A mistake of the person at the keyboard: one sentence, no stack. */
class UsageError extends Error {}

type Session = {
  run: <Result>(command: Input) => Promise<Result>;
  /** @throws UsageError unless the organization exists. */
  requireOrganization: (organizationId: string) => Promise<void>;
  /** @throws UsageError unless there is one such key. */
  findApiKey: (key: string, organizationId?: string) => Promise<{ organizationId: string; apiKeyId: string }>;
};

const program = new Command('npm run cli --')
  .description('The operator’s command line. It works while servers run, on the same database as they.')
  .option('--json', 'print the result as one line of JSON, for machines')
  .addHelpText(
    'after',
    `
Every command takes the same environment variables as the server (see .env.example): without DATABASE_URL it
works on the embedded PostgreSQL under DATA_DIR. Results go to standard output, everything else to standard error.

A first organization with its key, and a second key that may only read contacts:
  $ npm run cli -- organization create --name "Clean Rivers"
  $ npm run cli -- api-key create --organization <organizationId> --name Website --scopes contact:read`,
  )
  .showHelpAfterError('(--help shows how)');

const organizations = program.command('organization').description('create organizations');
organizations
  .command('create')
  .description('create an organization with its first API key, which may do everything')
  .requiredOption('--name <name>', 'its name, up to 200 characters', nonEmpty)
  .addHelpText('after', '\nPrints { "organizationId", "apiKey" }. The key is shown this once: keep it.')
  .action(({ name }: { name: string }) =>
    withSession(({ run }) => run(input(CreateOrganization, uuidv7(), { name }))),
  );

const apiKeys = program.command('api-key').description('create, rotate and revoke API keys');
apiKeys
  .command('create')
  .description('create an API key for an organization')
  .requiredOption('--organization <id>', 'the organization it belongs to')
  .option('--name <name>', 'what it is for', nonEmpty, 'Command line')
  .option('--scopes <scopes>', `what it may do, separated by commas: ${SCOPES.join(', ')}`, scopes, ['*'])
  .option('--rate-limit <n>', 'requests per second, 1 to 1000, or "unlimited"; default 10', rateLimit)
  .addHelpText('after', '\nPrints { "apiKeyId", "key" }. The key is shown this once: keep it.')
  .action(
    (options: { organization: string; name: string; scopes: string[]; rateLimit?: number | 'unlimited' }) =>
      withSession(async ({ run, requireOrganization }) => {
        const { organization: organizationId, name, scopes, rateLimit = null } = options;
        await requireOrganization(organizationId);
        return run(input(CreateApiKey, organizationId, { name, scopes, rateLimit, expiresAt: null }));
      }),
  );
apiKeys
  .command('rotate')
  .description('replace an API key by a new one with the same name, scopes, rate limit and expiry')
  .requiredOption('--api-key <key>', 'the apiKeyId that create printed, or the key up to its second "_"')
  .option('--organization <id>', 'rotate it only if it belongs to this organization')
  .option('--overlap-seconds <n>', 'how long the old key works beside the new one, 0 to 86400', overlap, 0)
  .addHelpText('after', '\nPrints the new { "apiKeyId", "key" }. The key is shown this once: keep it.')
  .action((options: { organization?: string; apiKey: string; overlapSeconds: number }) =>
    withSession(async ({ run, findApiKey, requireOrganization }) => {
      if (options.organization !== undefined) await requireOrganization(options.organization);
      const { organizationId, apiKeyId } = await findApiKey(options.apiKey, options.organization);
      const { overlapSeconds } = options;
      return run(input(RotateApiKey, organizationId, { apiKeyId, overlapSeconds }));
    }),
  );
apiKeys
  .command('revoke')
  .description('revoke an API key: every instance refuses it within a second')
  .requiredOption('--api-key <key>', 'the apiKeyId that create printed, or the key up to its second "_"')
  .option('--organization <id>', 'revoke it only if it belongs to this organization')
  .addHelpText('after', '\nPrints { "apiKeyId" }. Revoking a revoked key again changes nothing.')
  .action((options: { organization?: string; apiKey: string }) =>
    withSession(async ({ run, findApiKey, requireOrganization }) => {
      if (options.organization !== undefined) await requireOrganization(options.organization);
      const { organizationId, apiKeyId } = await findApiKey(options.apiKey, options.organization);
      return run(input(RevokeApiKey, organizationId, { apiKeyId }));
    }),
  );

program
  .command('migrate')
  .description('bring the database up to date; servers do the same when they start')
  .addHelpText('after', '\nPrints { "migrated": true } when the database is up to date.')
  .action(() => withSession(() => Promise.resolve({ migrated: true })));

await program.parseAsync();

/** Opens the database, runs the work, prints what it answers. */
async function withSession(work: (session: Session) => Promise<unknown>): Promise<void> {
  try {
    const config = loadConfig();
    const logger = new JsonLogger('silent');
    const runtime = await openRuntime(config, logger);
    try {
      const app = await NestFactory.createApplicationContext(AppModule.of(runtime), { logger });
      const bus = app.get(CommandBus);
      const commands = app.get(Commands);
      const answer = await work({
        run: <Result>(command: Input) => bus.execute<Input, Result>(command),
        async requireOrganization(organizationId) {
          const { state } = isId(organizationId)
            ? await commands.load(organization, organizationId, organizationId)
            : { state: organization.initial };
          if (state.status === 'unknown') throw new UsageError('There is no organization with this id.');
        },
        findApiKey: (key, organizationId) => findApiKey(runtime, key, organizationId),
      });
      process.stdout.write(`${JSON.stringify(answer, null, program.opts<{ json?: true }>().json ? 0 : 2)}\n`);
      await app.close();
    } finally {
      await runtime.close();
    }
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
}

/** Finds a key by its id, or by its text: the public part is enough. */
async function findApiKey({ source }: Runtime, key: string, organizationId?: string) {
  const [, publicId] = /^adv_([A-Za-z0-9]{8})(_|$)/.exec(key) ?? [];
  const found = await source.query<{ organizationId: string; apiKeyId: string }[]>(
    `SELECT organization_id AS "organizationId", id AS "apiKeyId" FROM ${API_KEYS_TABLE}
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

function input<T extends Input>(type: InputClass<T>, organizationId: string, fields: Partial<T>): T {
  return systemInput(type, organizationId, fields, 'command-line');
}

function nonEmpty(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 200 || /\0|\p{Surrogate}/u.test(trimmed)) {
    throw new InvalidArgumentError('Give 1 to 200 characters.');
  }
  return trimmed;
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

function overlap(text: string): number {
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(seconds <= LONGEST_OVERLAP_SECONDS)) {
    throw new InvalidArgumentError(`Give 0 to ${LONGEST_OVERLAP_SECONDS} seconds.`);
  }
  return seconds;
}
