import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/**
 * The slowest test files, slowest first. If one of them started last, the other core would be idle at the end, and a fresh clone
 * has no times of earlier runs that Jest could use. An outdated list only costs time.
 */
const LONGEST = [
  'test/faults',
  'test/databases',
  'test/deadline',
  'test/monitor',
  'test/history',
  'test/hostile',
  'test/releases',
  'test/command-line',
  'libs/rate-limit/redis-cluster',
  'test/start',
  'test/doctor',
  'test/command-line-contacts',
  'test/log',
  'test/signing',
  'test/keys',
  'test/witness',
  'libs/database/connection-watchdog',
  'libs/database/embedded-postgres',
  'test/operations',
  'test/records',
  'test/api-key',
  'test/crash',
  'test/failover',
  'test/shutdown',
  'test/frozen',
  'test/contact-import',
  'test/contact-export',
  'test/self-check',
  'test/erasure-files',
  'libs/projections/projections',
  'libs/projections/serving',
  'src/audit/verify/verify-file',
];

export default class extends Sequencer {
  sort(tests) {
    const { TEST_ORDER: order } = process.env;
    if (order !== undefined) {
      const shuffled = ({ path }) => createHash('sha256').update(`${order} ${path}`).digest('hex');
      return [...tests].sort((one, other) => (shuffled(one) < shuffled(other) ? -1 : 1));
    }
    const place = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.includes(`/${name}.`));
      return found === -1 ? LONGEST.length : found;
    };
    const sharesServers = ({ path }) => readFileSync(path, 'utf8').includes('SharedApi.open(');
    const sorted = [...super.sort(tests)].sort((one, other) => place(one) - place(other));
    // One after another, so that each worker starts the servers once.
    return [...sorted.filter(sharesServers), ...sorted.filter((test) => !sharesServers(test))];
  }
}
