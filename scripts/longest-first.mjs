import Sequencer from '@jest/test-sequencer';

/**
 * The files of tests that take longest, the longest first. Begun last, one of them would keep a core waiting at the end;
 * and a fresh clone has no times of an earlier run, by which Jest would know. Nothing breaks where this is not true.
 */
const LONGEST = [
  'test/history',
  'test/command-line-contacts',
  'test/command-line',
  'test/faults',
  'test/releases',
  'test/databases',
  'test/hostile',
  'test/deadline',
  'libs/rate-limit/redis-cluster',
  'test/doctor',
  'libs/database/silence-watch',
  'test/start',
  'test/crash',
  'test/failover',
  'test/shutdown',
  'test/frozen',
  'test/contact-import',
  'test/api-key',
  'test/pagination',
  'libs/rpc/paging',
  'libs/event-store/history-query',
  'src/history/verify/verify-file',
  'libs/projections/projections',
  'libs/projections/serving',
];

export default class extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.includes(`/${name}.`));
      return found === -1 ? LONGEST.length : found;
    };
    return [...super.sort(tests)].sort((one, other) => place(one) - place(other));
  }
}
