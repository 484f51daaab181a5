import { Signer } from '#libs/sealing';
import { verifyDatabase } from '../history/verify/index.js';
import { counted, type Finding, number, ok, problem, warning } from './finding.js';
import { instancesOf } from './read-models.js';
import { type DatabaseCheck } from './patient.js';

/** Sealing runs every three seconds. */
const LATE_SECONDS = 60;
/** How long a history may be to be verified whole in passing: about a second. */
const LONGEST_VERIFIED = 20_000;
/** Organizations looked at; each costs three look-ups. */
const MOST_ORGANIZATIONS = 1_000;

type Head = {
  organization_id: string;
  size: string;
  position: string;
  root: Buffer;
  sealed_at: Date;
  left_out: boolean;
};

/** Whether the history is sealed as it grows, and what was sealed is still what is there. */
export const seals: DatabaseCheck = {
  name: 'seals',
  async examine({ database, config, encryptionKey }) {
    const { there } = await database.row<{ there: boolean }>(
      `SELECT to_regclass('seal_tiles') IS NOT NULL AND to_regclass('sealing') IS NOT NULL AS there`,
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
    const heads = await database.query<Head[]>(HEADS, [MOST_ORGANIZATIONS]);
    for (const { organization_id } of heads.filter(({ left_out }) => left_out)) {
      found.push(
        problem(
          `The history of organization ${organization_id} is not what was sealed before, and is sealed no more.`,
          'Somebody changed it, or a backup was restored in part: history verify with a checkpoint that was kept tells where.',
        ),
      );
    }
    const key = config.signingKey ?? encryptionKey;
    const [head] = heads
      .filter(({ size, left_out }) => Number(size) <= LONGEST_VERIFIED && !left_out)
      .sort((one, other) => other.sealed_at.getTime() - one.sealed_at.getTime());
    if (head && key) {
      const signer = config.signingKey ? new Signer(config.signingKey) : Signer.derivedFrom(key);
      const size = Number(head.size);
      const checkpoint = signer.signCheckpoint({
        organizationId: head.organization_id,
        size,
        root: head.root,
        position: Number(head.position),
        sealedAt: head.sealed_at,
        parts: [],
      });
      const { ok: holds, reason } = await verifyDatabase(
        database,
        head.organization_id,
        checkpoint,
        signer.verifierKey,
      );
      if (!holds) {
        found.push(
          problem(
            `The history of organization ${head.organization_id} does not lead to its last seal: ${reason}.`,
            'history verify with a checkpoint that was kept elsewhere tells where it was changed.',
          ),
        );
      } else if (found.length === 0) {
        return [
          ok(`The history is sealed; ${counted(size, 'event')} of one organization lead to its last seal.`),
        ];
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

// From one organization to the next by the primary key: the table has a row for every few seconds of each.
const HEADS = `
  WITH RECURSIVE organization (id, n) AS (
    (SELECT organization_id, 1 FROM seals ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.organization_id FROM seals s WHERE s.organization_id > o.id ORDER BY s.organization_id LIMIT 1), o.n + 1
    FROM organization o WHERE o.id IS NOT NULL AND o.n < $1
  )
  SELECT head.*, EXISTS (
    SELECT FROM events e WHERE e.organization_id = o.id AND e.position > head.position
      AND e.position <= (SELECT position FROM sealing)
  ) AS left_out
  FROM organization o CROSS JOIN LATERAL (
    SELECT * FROM seals s WHERE s.organization_id = o.id ORDER BY s.size DESC LIMIT 1
  ) head WHERE o.id IS NOT NULL`;
