import { CONNECTIONS_BESIDE_THE_POOL } from '#libs/database';
import { type Finding, ok, problem, warning } from './finding.js';
import { instancesOf } from './read-models.js';
import { type DatabaseCheck } from './deployment.js';

type Room = { most: number; reserved: number; of_role: number; of_database: number; used: number };

/** From this share on a deployment that starts new instances beside the old ones may find no room. */
const NEARLY_FULL = 0.8;

/** Whether all instances find the connections that they may ask for. */
export const connections: DatabaseCheck = {
  name: 'connections',
  async examine({ database, config }) {
    // Each of several processes is one, and at least those of this configuration are to come.
    const instances = Math.max((await instancesOf(database)) ?? 0, config.processes);
    const each = config.databasePoolSize + CONNECTIONS_BESIDE_THE_POOL;
    const wanted = instances * each;
    const { backend } = await database.row<{ backend: number }>('SELECT pg_backend_pid() AS backend');
    const arithmetic = `${instances} × (${config.databasePoolSize} + ${CONNECTIONS_BESIDE_THE_POOL})`;
    if (backend !== database.toldProcessId) {
      return [
        ok(
          `Instances may ask the pooler for ${wanted} connections, ${arithmetic}: keep its max_client_conn above.`,
        ),
      ];
    }
    const room = await database.row<Room>(ROOM);
    const limits = [room.most - room.reserved, room.of_role, room.of_database].filter((limit) => limit >= 0);
    const most = Math.min(...limits);
    const sum = `${wanted} connections may be asked for, ${arithmetic}, of ${most}`;
    const advice =
      'Raise max_connections (or the limit of the role or the database), lower DATABASE_POOL_SIZE, or put PgBouncer between.';
    const found: Finding[] = [];
    if (wanted > most) found.push(problem(`${sum}: some instances will be refused.`, advice));
    else if (wanted > most * NEARLY_FULL || room.used > most * NEARLY_FULL) {
      found.push(
        warning(
          `${sum}, ${room.used} are taken by all: a deployment beside the running instances may find no room.`,
          advice,
        ),
      );
    }
    return found.length > 0 ? found : [ok(`${sum}; ${room.used} are taken by all.`)];
  },
};

// Negative: no limit.
const ROOM = `
  SELECT current_setting('max_connections')::int AS most,
    current_setting('superuser_reserved_connections')::int
      + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS of_role,
    (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS of_database,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`;
