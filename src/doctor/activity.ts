import { counted, type Finding, ok, problem, warning } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** What holds locks or keeps old rows alive for longer than this is no part of our own work. */
const LONG_SECONDS = 300;
const WAITING_SECONDS = 5;

type Session = { pid: number; role: string; application: string; state: string; seconds: number };

/** What stands in the way of others at this moment. */
export const activity: DatabaseCheck = {
  name: 'activity',
  async examine({ database }) {
    const found: Finding[] = [];
    const waiting = await database.query<{ count: number; blockers: number[] }[]>(WAITING, [WAITING_SECONDS]);
    const { count = 0, blockers = [] } = waiting[0] ?? {};
    if (count > 0) {
      found.push(
        problem(
          `${counted(count, 'session')} ${count === 1 ? 'has' : 'have'} waited for a lock for more than ${WAITING_SECONDS} s, behind ${blockers.join(', ')}.`,
          'See pg_stat_activity for what those do; SELECT pg_terminate_backend(…) ends one, and what it had not committed.',
        ),
      );
    }
    for (const { pid, role, application, state, seconds } of await database.query<Session[]>(LONG, [
      LONG_SECONDS,
    ])) {
      found.push(
        warning(
          `Session ${pid} (${role}, ${application === '' ? 'unnamed' : application}) has been in one transaction for ${seconds} s: ${state}.`,
          'Old rows cannot be cleaned away meanwhile. End it unless it is a backup that is under way.',
        ),
      );
    }
    for (const { gid, seconds } of await database.query<{ gid: string; seconds: number }[]>(PREPARED, [
      LONG_SECONDS,
    ])) {
      found.push(
        warning(
          `A prepared transaction (${gid}) has been left for ${seconds} s, with all its locks.`,
          'COMMIT PREPARED or ROLLBACK PREPARED it: nothing of this program makes any.',
        ),
      );
    }
    return found.length > 0 ? found : [ok('Nobody waits for a lock, and no transaction is old.')];
  },
};

const WAITING = `
  SELECT count(*)::int AS count,
    (SELECT array_agg(DISTINCT b) FROM pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) AS b
     WHERE w.datname = current_database() AND w.wait_event_type = 'Lock') AS blockers
  FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND query_start < clock_timestamp() - make_interval(secs => $1)`;

// What other roles do is shown to pg_read_all_stats alone; of theirs xact_start is null.
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
