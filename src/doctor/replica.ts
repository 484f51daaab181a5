import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_IDENTITY, describeError } from '#libs/database';
import { type Findings } from './finding.js';
import { type Check } from './deployment.js';
import { ReadOnlyDatabase } from './read-only-database.js';

/** The replica must catch up with the primary within this time. Servers wait a twentieth of it. */
const TIMEOUT_MS = 2_000;
const PAUSE_MS = 50;

/** Whether the replica follows this database and keeps up. Servers work without it, so findings are only warnings. */
export const replica: Check = {
  name: 'replica',
  async examine({ config: { databaseReplicaUrl: url }, isWrong, database }, found) {
    if (url === undefined || database === undefined || isWrong('DATABASE_REPLICA_URL')) return undefined;
    let standby: ReadOnlyDatabase | undefined;
    try {
      standby = await ReadOnlyDatabase.connect(url);
      return await compare(found, standby, database);
    } catch (error) {
      return found.warning(
        `The replica cannot be reached: ${describeError(error)}.`,
        'Start it, or correct DATABASE_REPLICA_URL. Until then, the primary serves all reads.',
      );
    } finally {
      await standby?.close();
    }
  },
};

async function compare(found: Findings, standby: ReadOnlyDatabase, primary: ReadOnlyDatabase) {
  const { recovering } = await standby.row<{ recovering: boolean }>(
    'SELECT pg_is_in_recovery() AS recovering',
  );
  if (!recovering)
    return found.warning(
      'DATABASE_REPLICA_URL leads to a server that is not a replica.',
      'Set it to a hot standby of the server in DATABASE_URL. Until then, the primary serves all reads.',
    );
  const [{ identity: one }, { identity: other }] = [
    await primary.row<{ identity: string }>(DATABASE_IDENTITY),
    await standby.row<{ identity: string }>(DATABASE_IDENTITY),
  ];
  if (one !== other)
    return found.warning(
      'The replica follows another server, or DATABASE_REPLICA_URL contains another database.',
      'Set it to a hot standby and the database of DATABASE_URL. Until then, the primary serves all reads.',
    );
  const { lsn } = await primary.row<{ lsn: string }>('SELECT pg_current_wal_lsn()::text AS lsn');
  const until = performance.now() + TIMEOUT_MS;
  for (;;) {
    const { behind } = await standby.row<{ behind: number }>(
      'SELECT greatest(0, pg_wal_lsn_diff($1, pg_last_wal_replay_lsn()))::float8 AS behind',
      [lsn],
    );
    if (behind === 0) return 'The replica keeps up.';
    if (performance.now() >= until)
      return found.warning(
        `The replica is ${Math.ceil(behind / 1024)} KiB of write-ahead log behind, and did not catch up within two seconds.`,
        'Check that it receives and replays the log (pg_wal_replay_resume, recovery_min_apply_delay). Until then, the primary serves all reads.',
      );
    await sleep(PAUSE_MS);
  }
}
