import { type EventEmitter } from 'node:events';
import { type DataSource, type EntityManager, type MigrationInterface, type QueryRunner } from 'typeorm';
import { Connection } from './connection.js';
import { PreparedNames } from './prepared-names.js';
import { ConnectionWatchdog } from './connection-watchdog.js';

/** Anything that runs SQL: the pool, or one transaction. */
export type Sql = Pick<EntityManager, 'query'>;

export type DatabaseOptions = {
  url: string;
  /** The most connections this process keeps open. */
  poolSize: number;
  migrations: (new () => MigrationInterface)[];
  /** Told of connections that break while idle in the pool; the pool replaces them by itself. */
  onConnectionError?: (error: Error) => void;
};

/**
 * A small pool of its own, for what must not wait behind others' queries: who asks, and whether the database answers.
 * Whoever fills the pool then makes nobody's key fail and no load balancer turn away.
 */
export class ReservedConnections {
  constructor(readonly source: DataSource) {}
}

/** How many: look-ups by key take a fraction of a millisecond, and health asks once a second. */
export const RESERVED_CONNECTIONS = 2;
/** Those, and the one that notices silence (ConnectionWatchdog). */
export const CONNECTIONS_BESIDE_THE_POOL = RESERVED_CONNECTIONS + 1;

/** Any constant serves, as long as every version of this program uses the same one. */
const MIGRATION_LOCK = 7_021_947_360;
/** A process that hangs while it holds the lock loses it then. */
const LONGEST_MIGRATION_MS = 3_600_000;

/**
 * Opens the pool. Nothing here outlives a transaction (no session settings), so that PgBouncer in transaction mode may stand in
 * between. Statements are prepared only if nothing does.
 */
export async function openDatabase(options: DatabaseOptions): Promise<DataSource> {
  // Loaded by who opens a database: see `trouble.ts`.
  const { PooledSource } = await import('./pooled-source.js');
  const source = new PooledSource({
    type: 'postgres',
    url: options.url,
    migrations: options.migrations,
    migrationsTableName: 'migrations',
    poolSize: options.poolSize,
    poolErrorHandler: (error: Error) => options.onConnectionError?.(error),
    connectTimeoutMS: 5_000,
    extra: {
      Client: Connection,
      watch: watchOf(options.url),
      prepared: new PreparedNames(),
      // A server that vanishes during a long statement is noticed by TCP.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // The pool hands a new connection over without a listener for its errors, and TypeORM adds its own a
      // moment later: a connection that PostgreSQL ends in between, as at every restart, would end the process.
      onConnect: (connection: EventEmitter) => connection.on('error', () => undefined),
    },
    installExtensions: false,
    logging: false,
  });
  return source.initialize();
}

/** One for all pools of this process to a database: their connections go silent together. */
const watches = new Map<string, ConnectionWatchdog>();

function watchOf(url: string): ConnectionWatchdog {
  let watch = watches.get(url);
  if (!watch) watches.set(url, (watch = new ConnectionWatchdog()));
  return watch;
}

/**
 * To be called once a program serves others: from then on no statement is waited for longer than a few seconds while the
 * database answers nobody. Before, a program waits, for whoever migrates behind a small PgBouncer, say.
 */
export function failFast(source: DataSource): void {
  watchOf((source.options as { url: string }).url).patient = false;
}

/**
 * Runs what is pending, each migration in a transaction of its own. Of several processes that start at once on an empty
 * database one migrates, the others wait.
 *
 * @returns the names of the migrations that ran here, none if another process was first.
 */
export async function migrate(source: DataSource): Promise<string[]> {
  const { MigrationExecutor } = await import('typeorm');
  const ran: string[] = [];
  while (!(await isMigrated(source))) {
    const name = await exclusively(source, async (runner) => {
      const executor = new MigrationExecutor(source, runner);
      // Looked at under the lock: another process may have been first.
      const [next] = await executor.getPendingMigrations();
      return next && (await executor.executeMigration(next)).name;
    });
    if (name !== undefined) ran.push(name);
  }
  return ran;
}

/** Asked without the lock, so that a start with nothing to migrate waits for nobody. */
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
 * Runs `work` while no other process does: the lock for everything that changes the schema. It is a transaction's, because
 * session locks do not pass PgBouncer, and `work` does all that it can in this transaction: were it to wait for a second
 * connection, instances that start together behind a pooler with few would wait for each other for ever.
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
