import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/**
 * The slowest test files, slowest first. If one of them started last, the other core would be idle at the end, and a fresh clone
 * has no times of earlier runs that Jest could use. An outdated list only costs time.
 */
const LONGEST = [
  'test/faults',
  'test/releases',
  'test/failover',
  'test/frozen',
  'test/keys',
  'test/self-check',
  'test/health',
  'libs/projections/rebuild',
  'test/deadline',
  'test/operations',
  'test/dashboard-browser',
  'test/broadcast-sending',
  'libs/projections/serving',
  'test/doctor',
  'test/dashboard-roles',
  'test/costs',
  'test/api-key',
  'test/import-signatures',
  'test/site',
  'test/imports',
  'test/replica',
  'test/newer-events',
  'test/idle',
  'test/image',
  'test/site-browser',
  'test/witness',
  'test/start',
  'libs/mail/mailer',
  'libs/projections/projections',
  'test/dashboard-attacks',
  'test/contact-import',
  'test/webhook',
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
