import { setTimeout as sleep } from 'node:timers/promises';
import { Checker } from './faults/checker.js';
import { type Fault, FAULTS, manyFaults, upgrade } from './faults/faults.js';
import { Installation } from './faults/installation.js';
import { type Caller, Load } from './faults/load.js';
import { Client } from './harness.js';
import { cli, eventually } from './processes.js';
import { published, ReleaseBuild } from './releases.js';
import { dumpOf, storedDatabases } from './stored-databases.js';
import { verifyTwice } from './verifiers.js';

/** Set by `npm run test:faults`: all faults, each so many seconds where that can be chosen, and their bounds hold. */
const SECONDS = process.env.FAULT_SECONDS;
const FAULT_MS = 1_000 * Number(SECONDS ?? 1.5);
const REST_MS = 500;
const INSTANCES = 3;
/** Instances may have to start anew, and whoever waits for a recovery may wait for long. */
const LONGEST_MS = 400_000;

/** Of the line of many faults; printed with it, so that it can be had again. */
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);

const faults =
  SECONDS === undefined ? FAULTS.filter(({ isQuick }) => isQuick) : [...FAULTS, manyFaults(SEED)];

let installation: Installation;
let verifierKey: string;

beforeAll(async () => {
  installation = await Installation.start(INSTANCES);
  const { stdout } = await cli(['history', 'key', '--out', '/dev/null', '--json'], installation.environment);
  ({ key: verifierKey } = JSON.parse(stdout));
  print(Object.keys(COLUMNS));
});
afterAll(() => installation.stop(), LONGEST_MS);

describe('nothing acknowledged is lost, nothing is done twice, and every answer is the specification’s', () => {
  it.each(faults.map(({ name }) => name))(
    '%s',
    async (name) => {
      const fault = faults.find((each) => each.name === name)!;
      const obstacle = fault.obstacle?.(installation);
      if (obstacle !== undefined) {
        print([fault.name, `skipped: ${obstacle}`]);
        return;
      }
      await installation.ready(fault.route ?? 'direct');
      await endure(installation, fault, await installation.caller());
    },
    LONGEST_MS,
  );

  it('afterwards every read model is what its events make', async () => {
    const ask = async (...args: string[]) => {
      const { stdout, stderr } = await cli([...args, '--json'], installation.environment);
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const status: { name: string; failure: unknown }[] = await ask('projections', 'status');
    for (const { name, failure } of status) {
      expect([name, failure]).toEqual([name, null]);
      expect([name, await ask('projections', 'verify', name)]).toEqual([name, { differences: [] }]);
    }
  });
});

const upgraded = SECONDS === undefined ? [] : published.map(({ version }) => version);
if (upgraded.length > 0) {
  describe('nobody notices that instances are upgraded', () => {
    it.each(upgraded)(
      'from %s',
      async (version) => {
        const release = published.find((each) => each.version === version)!;
        const stored = storedDatabases().find(({ commit }) => release.commit.startsWith(commit))!;
        const build = await ReleaseBuild.of(release);
        const fault = upgrade(version);
        const older = await Installation.start(INSTANCES, dumpOf(stored));
        try {
          const obstacle = typeof build === 'string' ? build : fault.obstacle?.(older);
          if (typeof build === 'string' || obstacle !== undefined) {
            print([fault.name, `skipped: ${obstacle}`]);
            return;
          }
          for (const instance of older.instances) await instance.start({}, build);
          const ask = async (...args: string[]) =>
            JSON.parse((await build.run(['--json', ...args], older.environment)).stdout);
          const { organizationId } = await ask('organization', 'create', '--name', 'Upgraded');
          const unlimited = ['--name', 'Load', '--rate-limit', 'unlimited'];
          const made = await ask('api-key', 'create', '--organization', organizationId, ...unlimited);
          const client = new Client('', organizationId, made.key ?? made.apiKey);
          await endure(older, fault, await older.callerOf(client), false);
        } finally {
          await older.stop();
        }
      },
      LONGEST_MS,
    );
  });
}

/**
 * Strikes while clients work, and compares afterwards.
 *
 * @param readsAtOnce whether every instance must show at once what another one wrote
 */
async function endure(
  installation: Installation,
  fault: Fault,
  caller: Caller,
  readsAtOnce = true,
): Promise<void> {
  const checker = new Checker();
  const origins = fault.isUnnoticed
    ? [installation.haproxy!.origin]
    : installation.instances.map(({ origin }) => origin);
  const load = new Load(origins, caller, checker, readsAtOnce);
  await load.stable(REST_MS);
  const begun = performance.now();
  await fault.strike(installation, FAULT_MS);
  const over = performance.now();
  if (fault.isLasting) await sleep(FAULT_MS);
  await load.stable();
  await load.end();

  const found = await installation.find(caller);
  const { lost, doubled } = checker.compare(found);
  const recovery = load.recovery(fault.isLasting ? begun : over);
  print(lineOf(fault, checker, { lost, doubled }, { paused: load.longestPause, ...recovery }));
  if (lost.length + doubled.length + checker.outside.length > 0) print(installation.failures);
  expect({ lost, doubled, outside: checker.outside }).toEqual({ lost: [], doubled: [], outside: [] });
  if (fault.isUnnoticed) expect(Object.fromEntries(checker.failures)).toEqual({});
  expect(recovery.stable).toBeDefined();
  if (SECONDS !== undefined) expect(recovery.stable).toBeLessThanOrEqual(fault.bound);
  await expectProof(installation, caller, found.exported);
}

/** Once the history is sealed up to the export's end, both verifiers prove all of it. */
async function expectProof(
  installation: Installation,
  { organizationId, key }: Caller,
  exported: string,
): Promise<void> {
  const events = exported.split('\n').length - 1;
  const client = new Client(installation.instances[0]!.origin, organizationId, key);
  let checkpoint!: string;
  await eventually(async () => {
    const { body } = await client.get('event.get-checkpoint');
    expect(body.data.size).toBe(events);
    ({ checkpoint } = body.data);
  });
  const verdict = await verifyTwice(exported, checkpoint, verifierKey);
  expect(verdict).toMatchObject({ ok: true, provedEvents: events });
}

const COLUMNS = {
  fault: 56,
  requests: 9,
  acknowledged: 13,
  lost: 5,
  doubled: 8,
  outside: 8,
  'paused s': 9,
  'first s': 8,
  'stable s': 9,
  'bound s': 8,
  'failed answers': 0,
};

/** A row of the table: the seconds are those of the longest pause, and from the fault's end to recovery. */
function lineOf(
  { name, bound }: Fault,
  { requests, acknowledged, outside, failures }: Checker,
  { lost, doubled }: { lost: string[]; doubled: string[] },
  times: { paused: number; first: number | undefined; stable: number | undefined },
): string[] {
  const seconds = [times.paused, times.first, times.stable].map((each) => each?.toFixed(1) ?? 'never');
  const failed = [...failures].map(([how, count]) => `${count} × ${how}`).join(', ') || 'none';
  const counts = [requests, acknowledged, lost.length, doubled.length, outside.length].map(String);
  return [name, ...counts, ...seconds, String(bound), failed];
}

function print(cells: readonly string[]): void {
  const widths = Object.values(COLUMNS);
  process.stdout.write(`${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join('')}\n`);
}
