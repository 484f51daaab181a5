import { resolve } from 'node:path';
import { type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RecordReader } from '#libs/commands';
import { containsDatabase } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { type Input, type InputClass, isId, OperationRunner, systemInput } from '#libs/rpc';
import { ALL_ORGANIZATIONS, logIdOf, logNameOf, REGISTER } from '#libs/sealing';
import { AppModule } from '../server/index.js';
import { type Config, loadConfig } from '../config/index.js';
import { organization } from '../organizations/index.js';
import { openRuntime, type Runtime } from '../server/index.js';
import { UsageError } from './usage-error.js';

export type Session = {
  runtime: Runtime;
  /** Creates a command or query of the operator. Its fields are not checked. */
  input: <T extends Input>(type: InputClass<T>, organizationId: string, fields: Partial<T>) => T;
  run: <Result>(input: Input) => Promise<Result>;
  /** Finds a provider that a module exports. */
  find: <Provider>(type: Type<Provider>) => Provider;
  /** @throws UsageError unless the organization exists. */
  requireOrganization: (organizationId: string) => Promise<void>;
  /**
   * Finds the log of an organization. `all` names the log of all organizations.
   *
   * @returns the id under which the log is stored. @throws UsageError if the organization does not exist.
   */
  requireLog: (name: string) => Promise<string>;
};

export type SessionOptions = { force?: boolean; creates?: boolean };

/** Without this, a command with a forgotten DATABASE_URL would return results from a new, empty database. */
export function requireDatabase({ databaseUrl, dataDirectory }: Config): void {
  if (databaseUrl !== undefined || containsDatabase(dataDirectory)) return;
  throw new UsageError(
    `DATABASE_URL is not set, and DATA_DIR (${resolve(dataDirectory)}) contains no database. Set one of them as the ` +
      'server does. "npm start" or "organization create" creates a database.',
  );
}

/**
 * Opens the database and the application, and runs the work.
 *
 * @param options.force whether to migrate the database even while instances of an incompatible version run.
 * @param options.creates whether the work is useful on a new, empty database.
 * @throws UsageError if there is no database yet and the work does not create one.
 */
export async function inSession(
  work: (session: Session) => Promise<void>,
  { force = false, creates = false }: SessionOptions = {},
): Promise<void> {
  const config = loadConfig();
  if (!creates) requireDatabase(config);
  const logger = new JsonLogger('silent');
  const runtime = await openRuntime(config, logger, { databaseWaitMs: 0, migratesBesideIncompatible: force });
  try {
    const module = AppModule.of(runtime, { ...config, redisUrl: undefined });
    const app = await NestFactory.createApplicationContext(module, { logger });
    const runner = app.get(OperationRunner);
    const records = app.get(RecordReader);
    const requireOrganization = async (organizationId: string) => {
      const { state } = isId(organizationId)
        ? await records.load(organization, organizationId, organizationId)
        : { state: organization.initial };
      if (state.status === 'unknown') throw new UsageError('No organization has this id.');
    };
    await work({
      runtime,
      input: (type, organizationId, fields) => systemInput(type, organizationId, fields, 'command-line'),
      run: (input) => runner.execute(input),
      find: (type) => app.get(type, { strict: false }),
      requireOrganization,
      async requireLog(name) {
        if (name !== logNameOf(ALL_ORGANIZATIONS) && name !== REGISTER) await requireOrganization(name);
        return logIdOf(name);
      },
    });
    await app.close();
  } finally {
    await runtime.close();
  }
}
