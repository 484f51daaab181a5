import { CONNECTIONS_BESIDE_THE_POOL } from '#libs/database';
import { instancesOf } from './read-models.js';
import { type DatabaseCheck } from './deployment.js';

type Room = { most: number; reserved: number; of_role: number; of_database: number; used: number };

/** The share of connections above which a rolling deployment can run out. */
const NEARLY_FULL = 0.8;

/** Whether PostgreSQL allows the connections that all instances can open. */
export const connections: DatabaseCheck = {
  name: 'connections',
  async examine({ database, config }, found) {
    // Each process is an instance. At least the processes of this configuration will run.
    const instances = Math.max((await instancesOf(database)) ?? 0, config.processes);
    const each = config.databasePoolSize + CONNECTIONS_BESIDE_THE_POOL;
    const wanted = instances * each;
    const { backend } = await database.row<{ backend: number }>('SELECT pg_backend_pid() AS backend');
    const arithmetic = `${instances} × (${config.databasePoolSize} + ${CONNECTIONS_BESIDE_THE_POOL})`;
    if (backend !== database.reportedProcessId) {
      return `Instances can open ${wanted} connections to the pooler, ${arithmetic}. Keep its max_client_conn higher.`;
    }
    const room = await database.row<Room>(ROOM);
    const limits = [room.most - room.reserved, room.of_role, room.of_database].filter((limit) => limit >= 0);
    const most = Math.min(...limits);
    const sum = `Instances can open ${wanted} of ${most} connections, ${arithmetic}`;
    const advice =
      'Raise max_connections (or the limit of the role or the database), lower DATABASE_POOL_SIZE, or use PgBouncer.';
    if (wanted > most) found.problem(`${sum}. PostgreSQL will reject some of them.`, advice);
    else if (wanted > most * NEARLY_FULL || room.used > most * NEARLY_FULL)
      found.warning(
        `${sum}; ${room.used} are in use. A rolling deployment can run out of connections.`,
        advice,
      );
    return `${sum}; ${room.used} are in use.`;
  },
};

// Limits below zero mean that there is no limit.
const ROOM = `
  SELECT current_setting('max_connections')::int AS most,
    current_setting('superuser_reserved_connections')::int
      + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS of_role,
    (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS of_database,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`;
