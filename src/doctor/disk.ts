import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { bytes, type Finding, number, ok, problem, warning } from './finding.js';
import { type Check, type DatabaseCheck } from './deployment.js';

const GIB = 1024 ** 3;
/** Free space of the embedded database's disk: less than a rebuild of a large read model takes, and nearly none. */
const LITTLE = 2 * GIB;
const NEARLY_NONE = GIB / 4;
/** Log that a slot holds back. */
const MUCH_LOG = GIB;
/** Of two billion transactions, from which on autovacuum is behind; PostgreSQL stops writes at the end. */
const OLD_TRANSACTIONS = 500_000_000;
const NEARLY_WRAPPED = 1_500_000_000;
/** Rows that are gone and still take their place. */
const BLOAT = { rows: 100_000, share: 0.5 };

/** The disk below the embedded database, which is the only one that can be seen from here. */
export const disk: Check = {
  name: 'disk',
  async examine({ config }) {
    if (config.databaseUrl !== undefined) return [];
    const { bavail, bsize } = await statfsOf(resolve(config.dataDirectory));
    const free = bavail * bsize;
    const message = `${bytes(free)} are free where DATA_DIR lies.`;
    const advice = 'Make room, or move DATA_DIR while no server runs: writes fail when nothing is left.';
    if (free < NEARLY_NONE) return [problem(message, advice)];
    return [free < LITTLE ? warning(message, advice) : ok(message)];
  },
};

/** Of a directory that is still to be made, what it will be made in. */
async function statfsOf(directory: string): Promise<{ bavail: number; bsize: number }> {
  return statfs(directory).catch((error: NodeJS.ErrnoException) => {
    const above = dirname(directory);
    if (error.code !== 'ENOENT' || above === directory) throw error;
    return statfsOf(above);
  });
}

type Sizes = {
  database: string;
  age: string;
  slots: { name: string; active: boolean; held: string }[] | null;
  archive_failing: boolean;
  archive_failed: string | null;
};
type Table = { name: string; bytes: string; dead: string; live: string };

/** What PostgreSQL takes and holds back. How much its disk has left only its own machine knows. */
export const storage: DatabaseCheck = {
  name: 'storage',
  async examine({ database }) {
    const found: Finding[] = [];
    const sizes = await database.row<Sizes>(SIZES);
    const tables = await database.query<Table[]>(TABLES);
    for (const { name, active, held } of sizes.slots ?? []) {
      if (Number(held) < MUCH_LOG) continue;
      found.push(
        warning(
          `The replication slot ${name} (${active ? 'in use' : 'used by nobody'}) holds back ${bytes(Number(held))} of log.`,
          active
            ? 'Look why its replica lags.'
            : `Drop it if its replica is gone: SELECT pg_drop_replication_slot('${name}').`,
        ),
      );
    }
    if (sizes.archive_failing) {
      found.push(
        problem(
          `The log cannot be archived (${sizes.archive_failed}): backups end there, and the disk fills.`,
          'Mend archive_command; PostgreSQL’s log says why it fails.',
        ),
      );
    }
    const age = Number(sizes.age);
    if (age > OLD_TRANSACTIONS) {
      const message = `The oldest row is ${number(age)} transactions old, of 2,000,000,000.`;
      const advice = 'VACUUM (FREEZE) the database, after ending old transactions, slots and prepared ones.';
      found.push(age > NEARLY_WRAPPED ? problem(message, advice) : warning(message, advice));
    }
    for (const { name, dead, live } of tables) {
      const gone = Number(dead);
      if (gone < BLOAT.rows || gone < BLOAT.share * Number(live)) continue;
      found.push(
        warning(
          `${name} holds ${number(gone)} rows that are gone beside ${number(Number(live))}.`,
          `VACUUM ${name}; if it comes back, look for old transactions and let autovacuum run more often.`,
        ),
      );
    }
    const largest = tables
      .slice(0, 3)
      .map(({ name, bytes: size }) => `${name} ${bytes(Number(size))}`)
      .join(', ');
    const all = `The database takes ${bytes(Number(sizes.database))}${largest === '' ? '' : `; the largest tables: ${largest}`}.`;
    return found.length > 0 ? found : [ok(all)];
  },
};

// What a slot holds back is measured from where the log is written, which a replica does not know.
const SIZES = `
  SELECT pg_database_size(current_database()) AS database,
    (SELECT max(age(datfrozenxid)) FROM pg_database) AS age,
    (SELECT json_agg(json_build_object('name', slot_name, 'active', active, 'held',
       CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) END))
     FROM pg_replication_slots WHERE restart_lsn IS NOT NULL) AS slots,
    (SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) FROM pg_stat_archiver) AS archive_failing,
    (SELECT last_failed_wal FROM pg_stat_archiver) AS archive_failed`;

const TABLES = `
  SELECT s.relid::regclass::text AS name, pg_total_relation_size(s.relid) AS bytes, s.n_dead_tup AS dead, s.n_live_tup AS live
  FROM pg_stat_user_tables s ORDER BY 2 DESC LIMIT 50`;
