import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_IDENTITY, describeError } from '#libs/database';
import { type Finding, ok, warning } from './finding.js';
import { type Check } from './deployment.js';
import { ReadOnlyDatabase } from './read-only-database.js';

/** What the primary had when we asked must be there within so long; servers wait for a twentieth of it. */
const PATIENCE_MS = 2_000;
const PAUSE_MS = 50;

/** Whether the replica is one of this database, and keeps up. Servers do without it: nothing of it is a problem. */
export const replica: Check = {
  name: 'replica',
  async examine({ config: { databaseReplicaUrl: url }, isWrong, database }) {
    if (url === undefined || database === undefined || isWrong('DATABASE_REPLICA_URL')) return [];
    let standby: ReadOnlyDatabase | undefined;
    try {
      standby = await ReadOnlyDatabase.connect(url);
      return await compare(standby, database);
    } catch (error) {
      return [
        warning(
          `The replica cannot be asked: ${describeError(error)}.`,
          'Start it or mend DATABASE_REPLICA_URL; until then the primary answers everything.',
        ),
      ];
    } finally {
      await standby?.close();
    }
  },
};

async function compare(standby: ReadOnlyDatabase, primary: ReadOnlyDatabase): Promise<Finding[]> {
  const { recovering } = await standby.row<{ recovering: boolean }>(
    'SELECT pg_is_in_recovery() AS recovering',
  );
  if (!recovering) {
    return [
      warning(
        'DATABASE_REPLICA_URL leads to a server that follows none.',
        'Name a hot standby of the server in DATABASE_URL; until then the primary answers everything.',
      ),
    ];
  }
  const [{ identity: one }, { identity: other }] = [
    await primary.row<{ identity: string }>(DATABASE_IDENTITY),
    await standby.row<{ identity: string }>(DATABASE_IDENTITY),
  ];
  if (one !== other) {
    return [
      warning(
        'The replica follows another server, or DATABASE_REPLICA_URL names another database of it.',
        'Name a hot standby and the database of DATABASE_URL; until then the primary answers everything.',
      ),
    ];
  }
  const { lsn } = await primary.row<{ lsn: string }>('SELECT pg_current_wal_lsn()::text AS lsn');
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const { behind } = await standby.row<{ behind: number }>(
      'SELECT greatest(0, pg_wal_lsn_diff($1, pg_last_wal_replay_lsn()))::float8 AS behind',
      [lsn],
    );
    if (behind === 0) return [ok('The replica follows and keeps up.')];
    if (performance.now() >= until) {
      return [
        warning(
          `The replica is ${Math.ceil(behind / 1024)} KiB of the log behind, and stayed so for two seconds.`,
          'Look whether it replays (pg_wal_replay_resume, recovery_min_apply_delay) and receives; until then the primary answers in its place.',
        ),
      ];
    }
    await sleep(PAUSE_MS);
  }
}
