import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import {
  describeError,
  isMigrated,
  isUnavailable,
  migrate,
  missingFromSchema,
  openDatabase,
  type ReplicaOptions,
  type IncidentLog,
} from '#libs/database';
import { canServeTogether, describeRelease, liveReleases } from '#libs/projections';
import { migrations, schema } from '#migrations';
import { type Config, ConfigError } from '../config/index.js';
import { programVersion } from '../environment/index.js';

/** The database to connect to, and where to report errors. */
export type Address = { url: string; config: Config; logger: LoggerService; incidents: IncidentLog };

/** @throws ConfigError if the database is available but cannot be used. */
export async function connect(
  { url, config, logger, incidents }: Address,
  poolSize: number,
): Promise<DataSource> {
  try {
    return await openDatabase({
      url,
      poolSize,
      migrations,
      onConnectionError: (error) => {
        if (!incidents.report(error))
          logger.warn({ message: 'database connection lost', reason: describeError(error) });
      },
    });
  } catch (error) {
    throw isUnavailable(error) ? error : unusable(config, error);
  }
}

/** The replica can be unavailable at the start and at any time. */
export function replicaOf(
  { databaseReplicaUrl: url, databasePoolSize: poolSize }: Config,
  primary: DataSource,
  logger: LoggerService,
): ReplicaOptions | undefined {
  if (url === undefined) return undefined;
  return {
    primary,
    open: () => openDatabase({ url, poolSize, migrations: [] }),
    onChange: (problem) => {
      if (problem === undefined) logger.log({ message: 'the replica serves reads' });
      else
        logger.warn({ message: 'the replica cannot serve reads: the primary serves them', reason: problem });
    },
  };
}

/** Runs pending migrations. @throws ConfigError if the resulting schema is not this version's. */
export async function prepareSchema(source: DataSource, logger: LoggerService): Promise<void> {
  const ran = await migrate(source);
  if (ran.length > 0) logger.log({ message: 'database migrations applied', migrations: ran });
  const missing = await missingFromSchema(source, schema);
  if (missing.parts.length > 0) throw new ConfigError([otherSchema(missing.parts)]);
  if (missing.indexes.length > 0) {
    logger.warn({
      message: 'indexes are missing, so queries scan whole tables: create them',
      statements: missing.indexes,
    });
  }
}

/**
 * For commands, which run migrations like a server that starts. Rejects this while instances of an incompatible version run, because
 * they may fail on the migrated database.
 *
 * @throws ConfigError
 */
export async function refuseToMigrateBesideIncompatible(source: DataSource): Promise<void> {
  if (await isMigrated(source)) return;
  const own = programVersion();
  const found = (await liveReleases(source)).filter(({ release }) => !canServeTogether(own, release));
  if (found.length === 0) return;
  throw new ConfigError([
    `The database was not migrated to ${own}: ${found.map(describeRelease).join(', ')} cannot run with it. Stop them first. ` +
      'A crashed instance counts for one minute. To migrate anyway, run migrate --force.',
  ]);
}

/**
 * An instance on this schema would report that it is ready and then fail requests. Either other migrations have run, or someone
 * changed the schema later.
 */
function otherSchema(missing: readonly string[]): string {
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
  return (
    `The database schema is incomplete, although all migrations have run. Missing: ` +
    `${missing.slice(0, 5).join(', ')}${more}. Start the version that created it, or restore a backup.`
  );
}

export function unusable(config: Config, error: unknown): ConfigError {
  const which = config.databaseUrl === undefined ? 'embedded PostgreSQL' : 'database in DATABASE_URL';
  return new ConfigError([`The ${which} cannot be used: ${reasonIn(config, error)}.`]);
}

/**
 * Describes the error. Attributes network errors to DATABASE_URL, because only that server is contacted here.
 */
export function reasonIn(config: Config, error: unknown): string {
  return describeError(error, config.databaseUrl !== undefined);
}
