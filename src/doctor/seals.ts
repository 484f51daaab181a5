import { ALL_ORGANIZATIONS } from '#libs/sealing';
import { verifyDatabase } from '../audit/index.js';
import { signersOf } from '../server/index.js';
import { counted, number } from './finding.js';
import { openKeyring } from './keys.js';
import { instancesOf } from './read-models.js';
import { type DatabaseCheck } from './deployment.js';

/** Sealing runs every three seconds. */
const LATE_SECONDS = 60;
/** Longest history that is verified completely here. It takes about a second. */
const MAX_VERIFIED = 20_000;
/** Organizations checked; each costs four look-ups. */
const MAX_ORGANIZATIONS = 1_000;
/** Quarantined organizations that are listed. */
const MAX_QUARANTINED = 100;

type Head = {
  organization_id: string;
  size: string;
  sealed_at: Date;
  note: string | null;
  is_refused: boolean;
  passed_over: boolean;
};

type Refused = { organization_id: string; refused: string };

/** Whether the history is sealed as it grows, and has not changed since. */
export const seals: DatabaseCheck = {
  name: 'seals',
  async examine(deployment, found) {
    const { database, config } = deployment;
    if (!(await database.has('signed_notes')))
      return found.warning('Nothing is sealed yet.', 'The first server that starts seals the history.');
    const { lag, oldest } = await database.row<{ lag: string; oldest: number | null }>(LAG);
    if (oldest !== null && oldest > LATE_SECONDS) {
      const instances = (await instancesOf(database)) ?? 0;
      const message = `${counted(Number(lag), 'event')} not sealed yet, the oldest for ${number(oldest)} s`;
      if (instances === 0)
        found.warning(`${message}. No server is running.`, 'Start one, or run history checkpoint.');
      else
        found.problem(
          `${message}, although servers are running.`,
          'Search their logs for "history not sealed", and find out which transaction holds the row of the table sealing.',
        );
    }
    for (const { organization_id, refused } of await database.query<Refused[]>(QUARANTINED, [
      MAX_QUARANTINED,
    ]))
      found.problem(
        `The ${organization_id === ALL_ORGANIZATIONS ? 'log of all organizations' : `history of organization ${organization_id}`} ` +
          `differs from what was sealed, and is quarantined: ${refused}.`,
        'Someone changed it, a key is missing, or a restore was incomplete. Follow docs/guides/runbooks/history-quarantined.md.',
      );
    const heads = await database.query<Head[]>(HEADS, [MAX_ORGANIZATIONS, ALL_ORGANIZATIONS]);
    for (const { organization_id } of heads.filter(({ passed_over }) => passed_over))
      found.problem(
        `Sealing has skipped events of organization ${organization_id}.`,
        'Someone changed the row of the table sealing. Run history checkpoint to seal these events.',
      );
    const { keyring } = await openKeyring(deployment);
    const signers = keyring && signersOf(config, keyring);
    const [head] = heads
      .filter(({ size, note, is_refused }) => Number(size) <= MAX_VERIFIED && note !== null && !is_refused)
      .sort((one, other) => other.sealed_at.getTime() - one.sealed_at.getTime());
    if (head && signers) {
      const signed = signers.open(head.note!);
      // Signs the checkpoint again with the current keys, because the stored note may only have a previous key's signature.
      const verdict =
        signed &&
        (await verifyDatabase(
          database,
          head.organization_id,
          signers.signCheckpoint(signed),
          signers.verifierKey,
        ));
      if (!verdict)
        found.problem(
          `The last checkpoint of organization ${head.organization_id} was signed with another key.`,
          'Set SIGNING_KEY to the key that signed it, or add that key to SIGNING_KEY_PREVIOUS.',
        );
      else if (!verdict.ok)
        found.problem(
          `The history of organization ${head.organization_id} does not match its last seal: ${verdict.reason}`,
          'To find the change, run history verify with a checkpoint kept elsewhere.',
        );
      else if (found.isEmpty) {
        const proved = counted(signed.size, 'event');
        return `The history is sealed. One organization was verified: ${proved} match its last seal.`;
      }
    }
    return heads.length === 0 ? 'There is nothing to seal yet.' : 'The whole history is sealed.';
  },
};

const LAG = `
  SELECT count(*) AS lag, extract(epoch FROM clock_timestamp() - min(e.recorded_at))::int AS oldest
  FROM (SELECT recorded_at FROM events WHERE position > (SELECT position FROM sealing) ORDER BY position LIMIT 100000) e`;

// Quarantined organizations may have no seals.
const QUARANTINED = `
  SELECT organization_id, refused FROM signed_notes WHERE refused IS NOT NULL ORDER BY refused_at, organization_id LIMIT $1`;

// Steps from one organization to the next by the primary key, because each has a row for every few seconds. The log of all
// organizations comes first and has no events.
const HEADS = `
  WITH RECURSIVE organization (id, n) AS (
    (SELECT organization_id, 1 FROM seals WHERE organization_id > $2 ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.organization_id FROM seals s WHERE s.organization_id > o.id ORDER BY s.organization_id LIMIT 1), o.n + 1
    FROM organization o WHERE o.id IS NOT NULL AND o.n < $1
  )
  SELECT head.*, signed.note, signed.refused IS NOT NULL AS is_refused, signed.look_at IS NULL AND EXISTS (
    SELECT FROM events e WHERE e.organization_id = o.id AND e.position > head.position
      AND e.position <= (SELECT position FROM sealing)
  ) AS passed_over
  FROM organization o CROSS JOIN LATERAL (
    SELECT organization_id, size, position, sealed_at FROM seals s
    WHERE s.organization_id = o.id ORDER BY s.size DESC LIMIT 1
  ) head LEFT JOIN signed_notes signed ON signed.organization_id = o.id WHERE o.id IS NOT NULL`;
