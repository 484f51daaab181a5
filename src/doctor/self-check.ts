import { projections } from '../modules.js';
import { type Finding, number, ok, problem, warning } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** Findings that are told. */
const MOST_FINDINGS = 100;

type Found = { kind: string; finding: string };

/** What instances have found by themselves (`VERIFY_EVERY`), and whether they come to look. */
export const selfCheck: DatabaseCheck = {
  name: 'self-check',
  async examine({ database, config: { verifyEvery } }) {
    const { there } = await database.row<{ there: boolean }>(
      `SELECT to_regclass('self_checks') IS NOT NULL AS there`,
    );
    if (!there) return [];
    const own = projections.map(({ name, version }) => `${name} ${version}`);
    const found: Finding[] = [];
    for (const { kind, finding } of await database.query<Found[]>(FINDINGS, [own, MOST_FINDINGS])) {
      found.push(
        problem(
          finding,
          kind === 'history'
            ? 'Somebody has changed it. Change nothing, take a copy of the database; docs/guides/runbooks/data-changed-by-hand.md says what then.'
            : 'Somebody has changed it by hand, or it is a mistake of this program: projections rebuild mends it.',
        ),
      );
    }
    const { subjects, late } = await database.row<{ subjects: number; late: number }>(LATE, [
      own,
      verifyEvery,
    ]);
    if (verifyEvery === 0) {
      found.push(
        warning('VERIFY_EVERY is 0: nobody looks whether what is stored was changed.', 'Leave it out.'),
      );
    } else if (late > 0) {
      found.push(
        warning(
          `${number(late)} of ${number(subjects)} histories and read models are late: they should have been checked by now.`,
          'Look for "the self-check did not run" in the logs. One instance looks at one thing at a time: raise VERIFY_EVERY if there is too much.',
        ),
      );
    }
    return found.length > 0
      ? found
      : [ok(`${number(subjects)} histories and read models, none found changed`)];
  },
};

const FINDINGS = `
  SELECT kind, finding FROM self_checks
  WHERE finding IS NOT NULL AND (kind = 'history' OR subject = ANY ($1)) ORDER BY found_at LIMIT $2`;

const LATE = `
  SELECT count(*)::int AS subjects,
    count(*) FILTER (WHERE due_at <= clock_timestamp() - make_interval(secs => $2))::int AS late
  FROM self_checks WHERE kind = 'history' OR subject = ANY ($1)`;
