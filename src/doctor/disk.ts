import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { bytes, number } from './finding.js';
import { type Check, type DatabaseCheck } from './deployment.js';

const GIB = 1024 ** 3;
/** Free disk space: too little to rebuild a large projection, and nearly none. */
const LOW_SPACE = 2 * GIB;
const CRITICAL_SPACE = GIB / 4;
/** Write-ahead log retained by a slot. */
const LARGE_LOG = GIB;
/** Transactions, of two billion, after which autovacuum is behind and PostgreSQL is about to stop writes. */
const OLD_TRANSACTIONS = 500_000_000;
const NEARLY_WRAPPED = 1_500_000_000;
/** Dead rows that still take space. */
const BLOAT = { rows: 100_000, share: 0.5 };

/** The disk of images, emails and the embedded database. Other disks are not visible from here. */
export const disk: Check = {
  name: 'disk',
  async examine({ config }, found) {
    const { bavail, bsize } = await statfsOf(resolve(config.dataDirectory));
    const free = bavail * bsize;
    const message = `${bytes(free)} are free on the disk of DATA_DIR.`;
    const advice =
      'Free up space, or move DATA_DIR while no server runs. If the disk is full, ' +
      (config.databaseUrl === undefined ? 'writes fail.' : 'image uploads fail.');
    if (free < CRITICAL_SPACE) return found.problem(message, advice);
    return free < LOW_SPACE ? found.warning(message, advice) : message;
  },
};

/** If the directory does not exist yet, its closest existing parent. */
async function statfsOf(directory: string): Promise<{ bavail: number; bsize: number }> {
  return statfs(directory).catch((error: NodeJS.ErrnoException) => {
    const above = dirname(directory);
    if (!['ENOENT', 'ENOTDIR'].includes(error.code!) || above === directory) throw error;
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

/** Disk space that PostgreSQL uses and retains. Only its own machine knows how much is left. */
export const storage: DatabaseCheck = {
  name: 'storage',
  async examine({ database }, found) {
    const sizes = await database.row<Sizes>(SIZES);
    const tables = await database.query<Table[]>(TABLES);
    for (const { name, active, held } of sizes.slots ?? []) {
      if (Number(held) < LARGE_LOG) continue;
      found.warning(
        `The replication slot ${name} (${active ? 'in use' : 'not in use'}) retains ${bytes(Number(held))} of write-ahead log.`,
        active
          ? 'Find out why its replica lags.'
          : `If its replica no longer exists, run SELECT pg_drop_replication_slot('${name}').`,
      );
    }
    if (sizes.archive_failing)
      found.problem(
        `The write-ahead log cannot be archived (${sizes.archive_failed}). Backups are incomplete from that point on, and the disk fills up.`,
        'Fix archive_command. PostgreSQL’s log contains the reason.',
      );
    const age = Number(sizes.age);
    if (age > OLD_TRANSACTIONS) {
      const message = `The oldest row is ${number(age)} transactions old, of 2,000,000,000.`;
      const advice = 'End old transactions, slots and prepared transactions, then run VACUUM (FREEZE).';
      found[age > NEARLY_WRAPPED ? 'problem' : 'warning'](message, advice);
    }
    for (const { name, dead, live } of tables) {
      const removable = Number(dead);
      if (removable < BLOAT.rows || removable < BLOAT.share * Number(live)) continue;
      found.warning(
        `${name} contains ${number(removable)} dead rows and ${number(Number(live))} live rows.`,
        `Run VACUUM ${name}. If this happens again, look for old transactions and make autovacuum run more often.`,
      );
    }
    const largest = tables
      .slice(0, 3)
      .map(({ name, bytes: size }) => `${name} ${bytes(Number(size))}`)
      .join(', ');
    return `The database takes ${bytes(Number(sizes.database))}${largest === '' ? '' : `; the largest tables: ${largest}`}.`;
  },
};

// The log that a slot retains is measured from the end of the log, which a replica does not know.
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
