import { schemaOf } from '#libs/projections';
import { projections } from '../modules.js';
import { counted, type Findings, number } from './finding.js';
import { type DatabaseCheck } from './deployment.js';
import { type ReadOnlyDatabase } from './read-only-database.js';

/** An instance that has not reported for this long is not running. The same as in libs/projections/serving.ts. */
const SILENT_SECONDS = 60;
/** A busy system writes this many events in a few seconds. */
const LARGE_LAG = 10_000;
/** Added to ERASURE_PURGE_HOURS, because a rebuild takes time. */
const PURGE_GRACE_HOURS = 6;

type Row = {
  name: string;
  version: number;
  position: string;
  lag: string;
  failed_position: string | null;
  failure: string | null;
  instances: number;
  has_tables: boolean;
};

/** Instances that reported within the last minute; undefined if the table does not exist. */
export async function instancesOf(database: ReadOnlyDatabase): Promise<number | undefined> {
  if (!(await database.has('serving'))) return undefined;
  const { count } = await database.row<{ count: number }>(
    `SELECT count(DISTINCT instance)::int AS count FROM serving
     WHERE seen_at > clock_timestamp() - make_interval(secs => $1)`,
    [SILENT_SECONDS],
  );
  return count;
}

/** Versions of projections, the instances that use them, their lag, and overdue purges after erasures. */
export const readModels: DatabaseCheck = {
  name: 'projections',
  async examine({ database, config }, found) {
    const instances = await instancesOf(database);
    if (instances === undefined)
      return found.warning('No projections exist yet.', 'The first server that starts creates them.');
    const rows = await database.query<Row[]>(ROWS, [SILENT_SECONDS]);
    for (const projection of projections) {
      const { name, version, erasure } = projection;
      const row = rows.find((one) => one.name === name && one.version === version);
      if (!row) {
        found.warning(
          `${name} ${version}, which this version uses, has not been built.`,
          'A server of this version builds it when it starts, before it accepts requests.',
        );
        continue;
      }
      judge(found, row, schemaOf(projection));
      if (!row.has_tables || !erasure?.inPlain || config.erasurePurgeHours === 0) continue;
      const [overdue] = await database.query<{ hours: number }[]>(
        `SELECT (extract(epoch FROM clock_timestamp() - e.recorded_at) / 3600)::int AS hours
         FROM checkpoints c JOIN events e ON e.position > c.clean_position
         WHERE c.projection = $1 AND c.version = $2 AND e.type = $3
           AND e.recorded_at <= clock_timestamp() - make_interval(hours => $4)
         ORDER BY e.position LIMIT 1`,
        [name, version, erasure.event, config.erasurePurgeHours + PURGE_GRACE_HOURS],
      );
      if (overdue)
        found.warning(
          `Files of ${name} may still contain a person who was erased ${overdue.hours} hours ago.`,
          'Run projections purge. Servers do this automatically while they run.',
        );
    }
    const others = rows.filter(({ name, version }) => !isOwn(name, version));
    for (const row of others)
      if (row.instances > 0 && row.failure !== null) judge(found, row, `${row.name}_v${row.version}`);
    const alsoExisting =
      others.length > 0 ? `; ${counted(others.length, 'version')} of other releases also exist` : '';
    const serving =
      instances === 0 ? 'no server runs' : `${counted(instances, 'instance')} ran in the last minute`;
    return `All ${projections.length} projections are up to date; ${serving}${alsoExisting}.`;
  },
};

function judge(found: Findings, row: Row, schema: string): void {
  const name = `${row.name} ${row.version}`;
  if (!row.has_tables)
    return found.problem(
      `The tables of ${name} do not exist (schema ${schema}).`,
      `Run projections rebuild ${row.name}.`,
    );
  if (row.failure !== null)
    return found.problem(
      `${name} has stopped at position ${row.failed_position}: ${row.failure}. Reads return outdated data.`,
      `Look up the event (history.list-events). Deploy a version that can read it, or repair the tables. It then continues automatically.`,
    );
  if (Number(row.lag) > LARGE_LAG) {
    const lag = `${name} is ${number(Number(row.lag))} events behind`;
    if (row.instances === 0)
      return found.warning(`${lag}, and no server uses it.`, 'A starting server processes them first.');
    found.warning(
      `${lag}.`,
      'Run doctor again. If the number does not fall, check for long transactions and the load of the database.',
    );
  }
}

function isOwn(name: string, version: number): boolean {
  return projections.some((one) => one.name === name && one.version === version);
}

const ROWS = `
  SELECT c.projection AS name, c.version, c.position, greatest(0, h.horizon - c.position) AS lag, c.failed_position, c.failure,
    to_regnamespace(replace(c.projection, '-', '_') || '_v' || c.version) IS NOT NULL AS has_tables,
    (SELECT count(*)::int FROM serving s WHERE s.projection = c.projection AND s.version = c.version
       AND s.seen_at > clock_timestamp() - make_interval(secs => $1)) AS instances
  FROM checkpoints c, (SELECT event_horizon() AS horizon) h ORDER BY c.projection, c.version`;
