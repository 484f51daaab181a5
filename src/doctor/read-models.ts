import { schemaOf } from '#libs/projections';
import { projections } from '../modules.js';
import { counted, type Finding, number, ok, problem, warning } from './finding.js';
import { type DatabaseCheck } from './deployment.js';
import { type ReadOnlyDatabase } from './read-only-database.js';

/** As the instances themselves take it: libs/projections/serving.ts. */
const SILENT_SECONDS = 60;
/** Events: some seconds of a busy system. */
const MUCH = 10_000;
/** After what ERASURE_PURGE_HOURS promises: a rebuild takes its time. */
const PURGE_GRACE_HOURS = 6;

type Row = {
  name: string;
  version: number;
  position: string;
  lag: string;
  failed_position: string | null;
  failure: string | null;
  instances: number;
  /** Whether its tables are there. */
  stands: boolean;
};

/** Instances that have said within the last minute that they serve; undefined where the table is not there. */
export async function instancesOf(database: ReadOnlyDatabase): Promise<number | undefined> {
  const { there } = await database.row<{ there: boolean }>(
    `SELECT to_regclass('serving') IS NOT NULL AS there`,
  );
  if (!there) return undefined;
  const { count } = await database.row<{ count: number }>(
    `SELECT count(DISTINCT instance)::int AS count FROM serving
     WHERE seen_at > clock_timestamp() - make_interval(secs => $1)`,
    [SILENT_SECONDS],
  );
  return count;
}

/** Which versions stand, who serves them, how far they are, and whether the erased are gone from their files. */
export const readModels: DatabaseCheck = {
  name: 'projections',
  async examine({ database, config }) {
    const instances = await instancesOf(database);
    if (instances === undefined) {
      return [warning('There are no read models yet.', 'The first server that starts makes them.')];
    }
    const rows = await database.query<Row[]>(ROWS, [SILENT_SECONDS]);
    const found: Finding[] = [];
    for (const projection of projections) {
      const { name, version, erasure } = projection;
      const row = rows.find((one) => one.name === name && one.version === version);
      if (!row) {
        found.push(
          warning(
            `${name} ${version}, which this version serves, is not built.`,
            'A server of this version builds it when it starts, before it takes requests.',
          ),
        );
        continue;
      }
      found.push(...judge(row, schemaOf(projection)));
      if (!row.stands || !erasure?.inPlain || config.erasurePurgeHours === 0) continue;
      const [overdue] = await database.query<{ hours: number }[]>(
        `SELECT (extract(epoch FROM clock_timestamp() - e.recorded_at) / 3600)::int AS hours
         FROM checkpoints c JOIN events e ON e.position > c.clean_position
         WHERE c.projection = $1 AND c.version = $2 AND e.type = $3
           AND e.recorded_at <= clock_timestamp() - make_interval(hours => $4)
         ORDER BY e.position LIMIT 1`,
        [name, version, erasure.event, config.erasurePurgeHours + PURGE_GRACE_HOURS],
      );
      if (overdue) {
        found.push(
          warning(
            `Files of ${name} may still hold somebody who was erased ${overdue.hours} hours ago.`,
            'Run projections purge; servers do it by themselves while they run.',
          ),
        );
      }
    }
    const others = rows.filter(({ name, version }) => !isOwn(name, version));
    for (const row of others) {
      if (row.instances > 0 && row.failure !== null) found.push(...judge(row, `${row.name}_v${row.version}`));
    }
    if (found.length > 0) return found;
    const beside =
      others.length > 0 ? `; ${counted(others.length, 'version')} of other releases stand beside` : '';
    const serving =
      instances === 0 ? 'no server runs' : `${counted(instances, 'instance')} served last minute`;
    return [ok(`All ${projections.length} read models are up to date, ${serving}${beside}.`)];
  },
};

function judge(row: Row, schema: string): Finding[] {
  const name = `${row.name} ${row.version}`;
  if (!row.stands) {
    return [
      problem(`The tables of ${name} are gone (schema ${schema}).`, `Run projections rebuild ${row.name}.`),
    ];
  }
  if (row.failure !== null) {
    return [
      problem(
        `${name} stands still at position ${row.failed_position}: ${row.failure}. Reads show the past.`,
        `Look up the event (history.list-events), deploy a version that can read it, or mend the tables; it goes on by itself.`,
      ),
    ];
  }
  if (Number(row.lag) > MUCH) {
    const lag = `${name} has ${number(Number(row.lag))} events to read`;
    return [
      row.instances === 0
        ? warning(`${lag}, and no server serves it.`, 'A server that starts reads them first.')
        : warning(
            `${lag}.`,
            'Run doctor again: if it does not fall, look for long transactions and at the load of the database.',
          ),
    ];
  }
  return [];
}

function isOwn(name: string, version: number): boolean {
  return projections.some((one) => one.name === name && one.version === version);
}

const ROWS = `
  SELECT c.projection AS name, c.version, c.position, greatest(0, h.horizon - c.position) AS lag, c.failed_position, c.failure,
    to_regnamespace(replace(c.projection, '-', '_') || '_v' || c.version) IS NOT NULL AS stands,
    (SELECT count(*)::int FROM serving s WHERE s.projection = c.projection AND s.version = c.version
       AND s.seen_at > clock_timestamp() - make_interval(secs => $1)) AS instances
  FROM checkpoints c, (SELECT event_horizon() AS horizon) h ORDER BY c.projection, c.version`;
