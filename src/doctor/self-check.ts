import { projections } from '../modules.js';
import { number } from './finding.js';
import { type DatabaseCheck } from './deployment.js';

/** Maximum number of findings reported. */
const MAX_FINDINGS = 100;

type Found = { kind: string; finding: string };

/** Findings of the instances' self-check (`VERIFY_EVERY`), and whether it is on time. */
export const selfCheck: DatabaseCheck = {
  name: 'self-check',
  async examine({ database, config: { verifyEvery } }, found) {
    if (!(await database.has('self_checks'))) return undefined;
    const own = projections.map(({ name, version }) => `${name} ${version}`);
    for (const { kind, finding } of await database.query<Found[]>(FINDINGS, [own, MAX_FINDINGS]))
      found.problem(
        finding,
        kind === 'read model'
          ? 'Someone changed it by hand, or this is a bug. Run projections rebuild to repair it.'
          : 'Someone changed it. Change nothing, copy the database, and follow docs/guides/runbooks/data-changed-by-hand.md.',
      );
    const { subjects, late } = await database.row<{ subjects: number; late: number }>(LATE, [
      own,
      verifyEvery,
    ]);
    if (verifyEvery === 0)
      found.warning(
        'VERIFY_EVERY is 0, so stored data is never checked for changes.',
        'Remove the variable.',
      );
    else if (late > 0) {
      found.warning(
        `The self-check of ${number(late)} of ${number(subjects)} histories and projections is overdue.`,
        'Search the logs for "the self-check did not run". One instance checks one at a time. If there are too many, raise VERIFY_EVERY.',
      );
    }
    return `${number(subjects)} histories and projections checked, no changes found.`;
  },
};

const FINDINGS = `
  SELECT kind, finding FROM self_checks
  WHERE finding IS NOT NULL AND (kind <> 'read model' OR subject = ANY ($1)) ORDER BY found_at LIMIT $2`;

const LATE = `
  SELECT count(*)::int AS subjects,
    count(*) FILTER (WHERE due_at <= clock_timestamp() - make_interval(secs => $2))::int AS late
  FROM self_checks WHERE kind <> 'read model' OR subject = ANY ($1)`;
