import { type EventEmitter } from 'node:events';
import { type DataSource, type EntityManager, type MigrationInterface, type QueryRunner } from 'typeorm';
import { Connection } from './connection.js';
import { PreparedNames } from './prepared-names.js';
import { ConnectionWatchdog } from './connection-watchdog.js';

/** Anything that runs SQL: the pool, or one transaction. */
export type Sql = Pick<EntityManager, 'query'>;

export type DatabaseOptions = {
  url: string;
  /** The maximum number of connections. */
  poolSize: number;
  migrations: (new () => MigrationInterface)[];
  /** How long a statement waits for a connection of the pool before it fails. Default: 5,000. */
  connectTimeoutMs?: number;
  /** Called when a connection breaks while idle in the pool. The pool replaces it. */
  onConnectionError?: (error: Error) => void;
};

/**
 * A small separate pool for authentication and health checks, which must not wait behind other queries. So requests that
 * fill the main pool cause neither failing API keys nor failing health checks.
 */
export class ReservedConnections {
  constructor(readonly source: DataSource) {}
}

/** Two are enough: looking up a key takes a fraction of a millisecond, and the health check runs once a second. */
export const RESERVED_CONNECTIONS = 2;
/** The reserved connections and the probe of the ConnectionWatchdog. */
export const CONNECTIONS_BESIDE_THE_POOL = RESERVED_CONNECTIONS + 1;

/** An arbitrary number that every version of this program must share. */
const MIGRATION_LOCK = 7_021_947_360;
/** A process that hangs while holding the lock loses it after this time. */
const LONGEST_MIGRATION_MS = 3_600_000;

/**
 * Opens the pool. It uses no session settings, so that it works behind PgBouncer in transaction mode. Statements are
 * prepared only on direct connections.
 */
export async function openDatabase(options: DatabaseOptions): Promise<DataSource> {
  // Loaded on demand, because TypeORM takes a fifth of a second to load: see `incidents.ts`.
  const { PooledSource } = await import('./pooled-source.js');
  const source = new PooledSource({
    type: 'postgres',
    url: options.url,
    migrations: options.migrations,
    migrationsTableName: 'migrations',
    poolSize: options.poolSize,
    poolErrorHandler: (error: Error) => options.onConnectionError?.(error),
    connectTimeoutMS: options.connectTimeoutMs ?? 5_000,
    extra: {
      Client: Connection,
      watch: watchOf(options.url),
      prepared: new PreparedNames(),
      // A new connection costs PostgreSQL 15 ms, and plans every statement again. After the default of ten seconds, each
      // burst of requests would open most of the pool.
      idleTimeoutMillis: 60_000,
      // TCP detects a server that vanishes during a long statement.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // TypeORM adds its error listener a moment after the pool hands over a new connection. If PostgreSQL closed the
      // connection in between, as during a restart, the process would crash.
      onConnect: (connection: EventEmitter) => connection.on('error', () => undefined),
    },
    installExtensions: false,
    logging: false,
  });
  return source.initialize();
}

/** One per database for all pools of this process, because their connections go silent together. */
const watches = new Map<string, ConnectionWatchdog>();

function watchOf(url: string): ConnectionWatchdog {
  let watch = watches.get(url);
  if (!watch) watches.set(url, (watch = new ConnectionWatchdog()));
  return watch;
}

/**
 * Call this once a program serves requests. From then on, statements fail after a few seconds while the database does not
 * respond. Before, a program keeps waiting, for example for another process that migrates behind a small PgBouncer.
 */
export function failFast(source: DataSource): void {
  watchOf((source.options as { url: string }).url).patient = false;
}

/**
 * Runs the pending migrations, each in its own transaction. If several processes start on an empty database, one migrates
 * and the others wait.
 *
 * @returns the names of the migrations that ran here, none if another process was first.
 */
export async function migrate(source: DataSource): Promise<string[]> {
  const { MigrationExecutor } = await import('typeorm');
  const ran: string[] = [];
  while (!(await isMigrated(source))) {
    const name = await exclusively(source, async (runner) => {
      const executor = new MigrationExecutor(source, runner);
      // Read under the lock, because another process may have been first.
      const [next] = await executor.getPendingMigrations();
      return next && (await executor.executeMigration(next)).name;
    });
    if (name !== undefined) ran.push(name);
  }
  return ran;
}

/** Whether no migration is pending. Takes no lock, so that a start with nothing to migrate does not wait. */
export async function isMigrated(source: DataSource): Promise<boolean> {
  const [table] = await source.query<{ there: boolean }[]>(
    `SELECT to_regclass('migrations') IS NOT NULL AS there`,
  );
  if (!table!.there) return false;
  const ran = await source.query<{ name: string }[]>('SELECT name FROM migrations');
  return source.migrations.every((one) =>
    ran.some(({ name }) => name === (one.name ?? one.constructor.name)),
  );
}

/**
 * Runs `work` under the lock for schema changes, in one process at a time. The lock belongs to a transaction, because
 * PgBouncer does not support session locks. `work` should do everything in this transaction. If it waited for a second
 * connection, instances that start together behind a small pooler could wait for each other forever.
 */
export async function exclusively<T>(
  source: DataSource,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const runner = source.createQueryRunner();
  const connection = (await runner.connect()) as Connection;
  connection.patient = true;
  connection.limits = { idle: LONGEST_MIGRATION_MS };
  try {
    return await runner.manager.transaction(async () => {
      await runner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      return work(runner);
    });
  } finally {
    connection.patient = false;
    await runner.release();
  }
}
