import { ALL_ORGANIZATIONS } from '#libs/sealing';
import { verifyDatabase } from '../history/verify/index.js';
import { signersOf } from '../signing.js';
import { counted, type Finding, number, ok, problem, warning } from './finding.js';
import { openKeyring } from './keys.js';
import { instancesOf } from './read-models.js';
import { type DatabaseCheck } from './deployment.js';

/** Sealing runs every three seconds. */
const LATE_SECONDS = 60;
/** How long a history may be to be verified whole in passing: about a second. */
const LONGEST_VERIFIED = 20_000;
/** Organizations looked at; each costs four look-ups. */
const MOST_ORGANIZATIONS = 1_000;
/** Refused organizations that are named. */
const MOST_REFUSED = 100;

type Head = {
  organization_id: string;
  size: string;
  sealed_at: Date;
  note: string | null;
  is_refused: boolean;
  passed_over: boolean;
};

type Refused = { organization_id: string; refused: string };

/** Whether the history is sealed as it grows, and what was sealed is still what is there. */
export const seals: DatabaseCheck = {
  name: 'seals',
  async examine(deployment) {
    const { database, config } = deployment;
    const { there } = await database.row<{ there: boolean }>(
      `SELECT to_regclass('signed_notes') IS NOT NULL AS there`,
    );
    if (!there) return [warning('Nothing is sealed yet.', 'The first server that starts begins with it.')];
    const found: Finding[] = [];
    const { lag, oldest } = await database.row<{ lag: string; oldest: number | null }>(LAG);
    if (oldest !== null && oldest > LATE_SECONDS) {
      const instances = (await instancesOf(database)) ?? 0;
      const message = `${counted(Number(lag), 'event')} not sealed yet, the first for ${number(oldest)} s`;
      found.push(
        instances === 0
          ? warning(`${message}: no server runs.`, 'Start one, or run history checkpoint.')
          : problem(
              `${message}, although servers run.`,
              'Look for "history not sealed" in their logs, and for a transaction that holds the row of the table sealing.',
            ),
      );
    }
    for (const { organization_id, refused } of await database.query<Refused[]>(REFUSED, [MOST_REFUSED])) {
      found.push(
        problem(
          `The ${organization_id === ALL_ORGANIZATIONS ? 'log of all organizations' : `history of organization ${organization_id}`} ` +
            `is not what was sealed before, and is sealed no more: ${refused}.`,
          'Somebody changed it, a key is missing, or a backup was restored in part: docs/guides/runbooks/history-quarantined.md says what to do first.',
        ),
      );
    }
    const heads = await database.query<Head[]>(HEADS, [MOST_ORGANIZATIONS, ALL_ORGANIZATIONS]);
    for (const { organization_id } of heads.filter(({ passed_over }) => passed_over)) {
      found.push(
        problem(
          `Sealing has passed over events of organization ${organization_id}.`,
          'Somebody changed the row of the table sealing: history checkpoint seals them.',
        ),
      );
    }
    const { keyring } = await openKeyring(deployment);
    const signers = keyring && signersOf(config, keyring);
    const [head] = heads
      .filter(
        ({ size, note, is_refused }) => Number(size) <= LONGEST_VERIFIED && note !== null && !is_refused,
      )
      .sort((one, other) => other.sealed_at.getTime() - one.sealed_at.getTime());
    if (head && signers) {
      const signed = signers.open(head.note!);
      // With the signatures of today: the note may bear that of a previous key alone.
      const verdict =
        signed &&
        (await verifyDatabase(
          database,
          head.organization_id,
          signers.signCheckpoint(signed),
          signers.verifierKey,
        ));
      if (!verdict) {
        found.push(
          problem(
            `The last checkpoint of organization ${head.organization_id} was signed with another key.`,
            'Set SIGNING_KEY to the one that it was signed with, or add that to SIGNING_KEY_PREVIOUS.',
          ),
        );
      } else if (!verdict.ok) {
        found.push(
          problem(
            `The history of organization ${head.organization_id} does not lead to its last seal: ${verdict.reason}.`,
            'history verify with a checkpoint that was kept elsewhere tells where it was changed.',
          ),
        );
      } else if (found.length === 0) {
        const proved = counted(signed.size, 'event');
        return [ok(`The history is sealed; ${proved} of one organization lead to its last seal.`)];
      }
    }
    if (found.length > 0) return found;
    return [
      ok(heads.length === 0 ? 'There is nothing to seal yet.' : 'The history is sealed as far as it goes.'),
    ];
  },
};

const LAG = `
  SELECT count(*) AS lag, extract(epoch FROM clock_timestamp() - min(e.recorded_at))::int AS oldest
  FROM (SELECT recorded_at FROM events WHERE position > (SELECT position FROM sealing) ORDER BY position LIMIT 100000) e`;

// Its seals may be gone.
const REFUSED = `
  SELECT organization_id, refused FROM signed_notes WHERE refused IS NOT NULL ORDER BY refused_at, organization_id LIMIT $1`;

// From one organization to the next by the primary key: the table has a row for every few seconds of each. What stands for
// all of them comes first, and has no events.
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
