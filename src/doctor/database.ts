import { describeIncident, said } from '#libs/database';
import { type Finding, ok, problem, warning } from './finding.js';
import { isLocal } from './configuration.js';
import { type DatabaseCheck } from './deployment.js';
import { type ReadOnlyDatabase, Unanswered } from './read-only-database.js';

const OLDEST_VERSION = 14;

/** What a failed connection is, in a sentence without the URL. */
export function unreachable(error: unknown, embedded: boolean): Finding {
  // Of a name with several addresses.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return problem(
    `The ${embedded ? 'built-in PostgreSQL' : 'database in DATABASE_URL'} cannot be used: ${said(first).message}; ` +
      'nothing that lies in it was looked at.',
    error instanceof Unanswered
      ? 'Look at its host: processes that are stopped or wait for a disk (ps: state T or D), memory that is swapped. ' +
          'If it is PgBouncer: it takes everybody, and lets them wait while PostgreSQL behind it cannot be reached.'
      : (describeIncident(error) ??
          'Look whether PostgreSQL runs, and whether a firewall stands in between.'),
  );
}

/** That it answers, is new enough, takes writes, and what stands between. */
export const database: DatabaseCheck = {
  name: 'database',
  async examine({ database, config }) {
    const about = await database.row<About>(ABOUT);
    const version = Math.floor(Number(about.version) / 10_000);
    const found: Finding[] = [];
    if (version < OLDEST_VERSION) {
      found.push(
        problem(`PostgreSQL ${version} is too old.`, `Use PostgreSQL ${OLDEST_VERSION} or a newer one.`),
      );
    }
    if (about.replays) {
      found.push(
        problem(
          'DATABASE_URL leads to a replica, which takes no writes.',
          'Name the primary; several hosts are told apart by a proxy or a name that follows the primary.',
        ),
      );
    }
    if (about.encoding !== 'UTF8') {
      found.push(
        problem(
          `The database's encoding is ${about.encoding}: names beyond it cannot be stored.`,
          "Make it anew with ENCODING 'UTF8' TEMPLATE template0, and move the data with pg_dump.",
        ),
      );
    }
    if (await isCollationChanged(database, version)) {
      found.push(
        warning(
          'The collation of the system is of another version than the one that the indexes were built with.',
          'REINDEX DATABASE, then ALTER DATABASE … REFRESH COLLATION VERSION.',
        ),
      );
    }
    if (!about.encrypted && database.address !== undefined && !isLocal(database.address)) {
      found.push(
        warning(
          'The connection leaves the private network without TLS.',
          'Add ?sslmode=verify-full to DATABASE_URL.',
        ),
      );
    }
    found.push(...(await poolerOf(database)));
    if (found.some(({ level }) => level === 'problem')) return found;
    const name = config.databaseUrl === undefined ? 'The built-in PostgreSQL' : 'PostgreSQL';
    const connected = `connected in ${Math.ceil(database.connectedInMs)} ms`;
    return [ok(`${name} ${about.server_version} answers: ${connected}.`), ...found];
  },
};

/**
 * Whether something speaks for PostgreSQL: PgBouncer and its like give their clients another process id than that of the
 * backend. Which mode it has follows from what it lets through: statement mode would have refused the first transaction.
 */
async function poolerOf(database: ReadOnlyDatabase): Promise<Finding[]> {
  const { backend } = await database.row<{ backend: number }>('SELECT pg_backend_pid() AS backend');
  if (backend === database.toldProcessId) return [];
  return [
    ok('A pooler (PgBouncer or its like) stands between, in transaction or session mode: both are right.'),
  ];
}

export const STATEMENT_POOLING = problem(
  'PgBouncer stands between in statement mode, which lets no transaction through.',
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

/** PostgreSQL 15 is the first that remembers it. */
async function isCollationChanged(database: ReadOnlyDatabase, version: number): Promise<boolean> {
  if (version < 15) return false;
  const { changed } = await database.row<{ changed: boolean }>(
    `SELECT coalesce(datcollversion <> pg_database_collation_actual_version(oid), false) AS changed
     FROM pg_database WHERE datname = current_database()`,
  );
  return changed;
}
