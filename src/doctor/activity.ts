import { counted } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** Our own transactions never hold locks or old rows for longer. */
const LONG_SECONDS = 300;
const WAITING_SECONDS = 5;

type Session = { pid: number; role: string; application: string; state: string; seconds: number };

/** Sessions that currently block others. */
export const activity: DatabaseCheck = {
  name: 'activity',
  async examine({ database }, found) {
    const waiting = await database.query<{ count: number; blockers: number[] }[]>(WAITING, [WAITING_SECONDS]);
    const { count = 0, blockers = [] } = waiting[0] ?? {};
    if (count > 0)
      found.problem(
        `${counted(count, 'session')} ${count === 1 ? 'has' : 'have'} waited for a lock for more than ${WAITING_SECONDS} s, blocked by ${blockers.join(', ')}.`,
        `Look up the blocking session in pg_stat_activity. To end it and roll back its transaction: SELECT ${blockers.map((pid) => `pg_terminate_backend(${pid})`).join(', ')}`,
      );
    for (const { pid, role, application, state, seconds } of await database.query<Session[]>(LONG, [
      LONG_SECONDS,
    ]))
      found.warning(
        `Session ${pid} (${role}, ${application === '' ? 'unnamed' : application}) has been in one transaction for ${seconds} s: ${state}.`,
        'While it is open, VACUUM cannot remove old rows. End the session, unless it is a running backup.',
      );
    for (const { gid, seconds } of await database.query<{ gid: string; seconds: number }[]>(PREPARED, [
      LONG_SECONDS,
    ]))
      found.warning(
        `The prepared transaction ${gid} has held its locks for ${seconds} s.`,
        'Run COMMIT PREPARED or ROLLBACK PREPARED. This software never prepares transactions.',
      );
    return 'No session waits for a lock, and no transaction is old.';
  },
};

const WAITING = `
  SELECT count(*)::int AS count,
    (SELECT array_agg(DISTINCT b) FROM pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) AS b
     WHERE w.datname = current_database() AND w.wait_event_type = 'Lock') AS blockers
  FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND query_start < clock_timestamp() - make_interval(secs => $1)`;

// Only members of pg_read_all_stats see the sessions of other roles. For everyone else, their xact_start is null.
const LONG = `
  SELECT pid, usename AS role, application_name AS application, state,
    extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
  FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend'
    AND xact_start < clock_timestamp() - make_interval(secs => $1)
  ORDER BY xact_start LIMIT 5`;

const PREPARED = `
  SELECT gid, extract(epoch FROM clock_timestamp() - prepared)::int AS seconds FROM pg_prepared_xacts
  WHERE database = current_database() AND prepared < clock_timestamp() - make_interval(secs => $1) LIMIT 5`;
