import { ALL_ORGANIZATIONS } from '#libs/sealing';
import { WitnessClient } from '../audit/index.js';
import { counted } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** Maximum number of alarms reported. */
const MAX_ALARMS = 100;
/** A witness that has cosigned within this time is considered healthy. */
const LATE_SECONDS = 600;

type Alarm = { organization_id: string; key: string; reason: string };

/** Whether the configured witnesses cosign checkpoints. */
export const witnesses: DatabaseCheck = {
  name: 'witnesses',
  async examine({ database, config: { witnesses: addresses, witnessEvery } }, found) {
    if (!(await database.has('cosigned_notes')) || addresses.length === 0) return undefined;
    const names = addresses.map((address) => new WitnessClient(address).name);
    for (const { organization_id, key, reason } of await database.query<Alarm[]>(ALARMS, [names, MAX_ALARMS]))
      found.problem(
        `The witness ${key} contradicts ${logOf(organization_id)}: ${reason}.`,
        'A backup was restored, someone rewrote the history, or a copy of the database is in use. Follow docs/guides/runbooks/witness-contradicts.md.',
      );
    const lacking = await database.query<{ key: string; count: number }[]>(LACKING, [
      names,
      Math.max(LATE_SECONDS, 2 * witnessEvery),
    ]);
    for (const { key, count } of lacking)
      found.warning(
        `The witness ${key} has not cosigned the last checkpoint of ${counted(count, 'organization')}.`,
        'Search the servers’ logs for "a witness". Check that the witness is reachable and knows the verifier key (history key).',
      );
    return `Checkpoints are cosigned by ${counted(names.length, 'witness', 'witnesses')}.`;
  },
};

function logOf(organizationId: string): string {
  return organizationId === ALL_ORGANIZATIONS
    ? 'the log of all organizations'
    : `the history of organization ${organizationId}`;
}

const ALARMS = `
  SELECT organization_id, key, reason FROM witness_alarms WHERE key = ANY ($1)
  ORDER BY since, organization_id, key LIMIT $2`;

// Excludes witnesses that are being asked now. Also excludes witnesses that contradict the history, which are reported separately.
const LACKING = `
  SELECT w.key, count(*)::int AS count
  FROM (SELECT DISTINCT ON (organization_id) * FROM cosigned_notes ORDER BY organization_id, asked_at DESC, size DESC) c
  CROSS JOIN unnest($1::text[]) AS w(key)
  WHERE (c.repeats > 0 OR c.asked_at < clock_timestamp() - interval '30 seconds')
    AND NOT EXISTS (
      SELECT FROM cosigned_notes o WHERE o.organization_id = c.organization_id AND w.key = ANY (o.keys)
        AND (o.size = c.size OR o.asked_at > clock_timestamp() - make_interval(secs => $2)))
    AND NOT EXISTS (SELECT FROM witness_alarms a WHERE (a.organization_id, a.key) = (c.organization_id, w.key))
  GROUP BY w.key ORDER BY w.key`;
