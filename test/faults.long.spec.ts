import { Endurance, LONGEST_MS } from './faults/endurance.js';
import { type Fault, FAULTS, manyFaults } from './faults/faults.js';
import { Installation, type Route } from './faults/installation.js';

/** The seed of the test with many faults. It is printed, so that a run can be repeated. */
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);

/** Sorted by route, because changing the route restarts all instances. */
const faults = [...FAULTS, manyFaults(SEED)].sort((one, other) => routeOf(one).localeCompare(routeOf(other)));

let installation: Installation;
let endurance: Endurance;
beforeAll(async () => {
  installation = await Installation.start();
  endurance = new Endurance(installation);
});
afterAll(() => installation.stop(), LONGEST_MS);

describe('after each fault nothing is lost or duplicated, and every response conforms to the specification', () => {
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

  it('afterwards, every history and every projection verifies', () => endurance.expectProofs(), LONGEST_MS);
});

function routeOf({ route }: Fault): Route {
  return route ?? 'direct';
}
