import { Endurance, LONGEST_MS } from './faults/endurance.js';
import { type Fault, FAULTS, manyFaults } from './faults/faults.js';
import { Installation, type Route } from './faults/installation.js';

/** Of the line of many faults; printed with it, so that it can be had again. */
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);

/** Those of one route together: to change it, all instances start anew. */
const faults = [...FAULTS, manyFaults(SEED)].sort((one, other) => routeOf(one).localeCompare(routeOf(other)));

let installation: Installation;
let endurance: Endurance;
beforeAll(async () => {
  installation = await Installation.start();
  endurance = new Endurance(installation);
});
afterAll(() => installation.stop(), LONGEST_MS);

describe('nothing acknowledged is lost, nothing is done twice, and every answer is the specification’s', () => {
  it.each(faults.map(({ name }) => name))(
    '%s',
    async (name) => {
      const fault = faults.find((each) => each.name === name)!;
      if (endurance.skips(fault)) return;
      await installation.ready(routeOf(fault));
      await endurance.endure(fault, await installation.caller());
    },
    LONGEST_MS,
  );

  it(
    'afterwards every history is proved, and every read model is what its events make',
    () => endurance.expectProofs(),
    LONGEST_MS,
  );
});

function routeOf({ route }: Fault): Route {
  return route ?? 'direct';
}
