import { Endurance, LONGEST_MS } from './endurance.js';
import { upgrade } from './faults.js';
import { Installation } from './installation.js';
import { before, ReleaseBuild } from '../releases.js';
import { dumpOf, storedDatabases } from '../stored-databases.js';

const stored = storedDatabases().find(({ version }) => version === before.version)!;

let installation: Installation;
let endurance: Endurance;
beforeAll(async () => {
  installation = await Installation.start();
  endurance = new Endurance(installation);
});
afterAll(() => installation.stop(), LONGEST_MS);

it(
  `three instances of ${before.version} behind haproxy are upgraded one by one without any failed request`,
  async () => {
    const build = await ReleaseBuild.of(before);
    const fault = upgrade(before.version);
    if (endurance.skips(fault, typeof build === 'string' ? build : undefined) || typeof build === 'string')
      return;
    await installation.goBack(dumpOf(stored), build);
    const ask = async (...args: string[]) =>
      JSON.parse((await build.run(['--json', ...args], installation.environment)).stdout);
    const { organizationId } = await ask('organization', 'create', '--name', 'Upgraded');
    const unlimited = ['--name', 'Load', '--rate-limit', 'unlimited'];
    const made = await ask('api-key', 'create', '--organization', organizationId, ...unlimited);
    await endurance.endure(fault, { organizationId, key: made.key ?? made.apiKey }, stored);
    await endurance.expectProofs();
  },
  LONGEST_MS,
);
