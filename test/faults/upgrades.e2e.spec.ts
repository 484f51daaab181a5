import { Endurance, LONGEST_MS, SECONDS } from './endurance.js';
import { upgrade } from './faults.js';
import { Installation } from './installation.js';
import { published, ReleaseBuild } from '../releases.js';
import { dumpOf, storedDatabases } from '../stored-databases.js';

/** The first version that there was, and those that were published. */
const [oldest, ...later] = storedDatabases().map((stored) => ({ ...stored, version: stored.name.slice(3) }));
const versions =
  SECONDS === undefined
    ? [oldest!]
    : [oldest!, ...later.filter(({ commit }) => published.some((one) => one.commit === commit))];

let installation: Installation;
let endurance: Endurance;
beforeAll(async () => {
  installation = await Installation.start();
  endurance = new Endurance(installation);
});
afterAll(() => installation.stop(), LONGEST_MS);

it.each(versions.map(({ version }) => version))(
  'three instances of %s behind haproxy are upgraded one by one, and nobody notices',
  async (version) => {
    const stored = versions.find((each) => each.version === version)!;
    const build = await ReleaseBuild.of(stored);
    const fault = upgrade(version);
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
