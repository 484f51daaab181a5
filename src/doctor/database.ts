import { describeIncident, said } from '#libs/database';
import { type Finding, ok, problem } from './finding.js';
import { isLocal } from './configuration.js';
import { type DatabaseCheck } from './deployment.js';
import { type ReadOnlyDatabase, Unanswered } from './read-only-database.js';

const MIN_VERSION = 14;

/** Explains a failed connection in one sentence, without the URL. */
export function unreachable(error: unknown, embedded: boolean): Finding {
  // An AggregateError means that the name has several addresses.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return problem(
    `The ${embedded ? 'embedded PostgreSQL' : 'database in DATABASE_URL'} cannot be used: ${said(first).message}. ` +
      'Its contents were not checked.',
    error instanceof Unanswered
      ? 'Check its host for processes that are stopped or wait for a disk (ps: state T or D), and for swapping. ' +
          'PgBouncer accepts connections and lets them wait while it cannot reach PostgreSQL.'
      : (describeIncident(error) ??
          'Check that PostgreSQL is running and that no firewall blocks the connection.'),
  );
}

/** Whether the database responds, is new enough and accepts writes, and whether a pooler is in between. */
export const database: DatabaseCheck = {
  name: 'database',
  async examine({ database, config }, found) {
    const about = await database.row<About>(ABOUT);
    const version = Math.floor(Number(about.version) / 10_000);
    if (version < MIN_VERSION)
      found.problem(`PostgreSQL ${version} is too old.`, `Upgrade to PostgreSQL ${MIN_VERSION} or newer.`);
    if (about.replays)
      found.problem(
        'DATABASE_URL leads to a replica, which accepts no writes.',
        'Set it to the primary. With several hosts, use a proxy or a name that follows the primary.',
      );
    if (about.encoding !== 'UTF8')
      found.problem(
        `The database's encoding is ${about.encoding}, which cannot store all names.`,
        "Create a new database with ENCODING 'UTF8' TEMPLATE template0, and move the data with pg_dump.",
      );
    if (await isCollationChanged(database, version))
      found.warning(
        "The system's collation version has changed since the indexes were built.",
        'Run REINDEX DATABASE, then ALTER DATABASE … REFRESH COLLATION VERSION.',
      );
    if (!about.encrypted && database.address !== undefined && !isLocal(database.address))
      found.warning(
        'The connection leaves the private network without TLS.',
        'Add ?sslmode=verify-full to DATABASE_URL.',
      );
    if (await isPooled(database))
      found.ok('A pooler such as PgBouncer is in between, in transaction or session mode. Both work.');
    if (found.all.some(({ level }) => level === 'problem')) return undefined;
    const name = config.databaseUrl === undefined ? 'The embedded PostgreSQL' : 'PostgreSQL';
    const connected = `connected in ${Math.ceil(database.connectedInMs)} ms`;
    found.all.unshift(ok(`${name} ${about.server_version} responds: ${connected}.`));
    return undefined;
  },
};

/**
 * Detects a pooler: PgBouncer and similar programs give their clients a process id other than the backend's. Its mode is
 * transaction or session, because statement mode would have rejected the first transaction.
 */
async function isPooled(database: ReadOnlyDatabase): Promise<boolean> {
  const { backend } = await database.row<{ backend: number }>('SELECT pg_backend_pid() AS backend');
  return backend !== database.reportedProcessId;
}

export const STATEMENT_POOLING = problem(
  'PgBouncer is in statement mode, which rejects transactions.',
  'Set pool_mode = transaction (or session) for this database in pgbouncer.ini.',
);

type About = {
  version: string;
  server_version: string;
  replays: boolean;
  encoding: string;
  encrypted: boolean;
};

const ABOUT = `
  SELECT current_setting('server_version_num') AS version, split_part(current_setting('server_version'), ' ', 1) AS server_version,
    pg_is_in_recovery() AS replays, pg_encoding_to_char(d.encoding) AS encoding,
    coalesce((SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()), false) AS encrypted
  FROM pg_database d WHERE d.datname = current_database()`;

/** Whether the system's collation has changed. PostgreSQL only records its version since release 15. */
async function isCollationChanged(database: ReadOnlyDatabase, version: number): Promise<boolean> {
  if (version < 15) return false;
  const { changed } = await database.row<{ changed: boolean }>(
    `SELECT coalesce(datcollversion <> pg_database_collation_actual_version(oid), false) AS changed
     FROM pg_database WHERE datname = current_database()`,
  );
  return changed;
}
