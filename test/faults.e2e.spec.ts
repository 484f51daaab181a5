import { setTimeout as sleep } from 'node:timers/promises';
import { JsonLogger } from '#libs/operations';
import { readConfig } from '../src/config.js';
import { openRuntime } from '../src/runtime.js';
import { Checker } from './faults/checker.js';
import { type Fault, FAULTS, manyFaults, upgrade } from './faults/faults.js';
import { Installation, type Route } from './faults/installation.js';
import { type Caller, Load } from './faults/load.js';
import { Client } from './harness.js';
import { eventually } from './processes.js';
import { published, ReleaseBuild } from './releases.js';
import { dumpOf, expectAnswers, type StoredDatabase, storedDatabases } from './stored-databases.js';
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

/** Those of one route together: to change it, all instances start anew. */
const faults =
  SECONDS === undefined
    ? FAULTS.filter(({ isQuick }) => isQuick)
    : [...FAULTS, manyFaults(SEED)].sort((one, other) => routeOf(one).localeCompare(routeOf(other)));

/** Of the earlier versions: the first that there was, and those that were published. */
const [oldest, ...later] = storedDatabases().map((stored) => ({ ...stored, version: stored.name.slice(3) }));
const upgraded = [
  oldest!,
  ...(SECONDS === undefined
    ? []
    : later.filter(({ commit }) => published.some((one) => one.commit === commit))),
];

/** An organization's history as a fault has left it. */
type Exported = { after: string; organizationId: string; key: string; exported: string };

let installation: Installation;
const histories: Exported[] = [];

beforeAll(async () => {
  installation = await Installation.start(INSTANCES);
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
      await installation.ready(routeOf(fault));
      await endure(fault, await installation.caller());
    },
    LONGEST_MS,
  );

  it(
    'afterwards every history is proved, and every read model is what its events make',
    expectProofs,
    LONGEST_MS,
  );
});

describe('nobody notices that instances are upgraded', () => {
  it.each(upgraded.map(({ version }) => version))(
    'from %s',
    async (version) => {
      const stored = upgraded.find((each) => each.version === version)!;
      const fault = upgrade(version);
      const build = await ReleaseBuild.of(stored);
      const obstacle = typeof build === 'string' ? build : fault.obstacle?.(installation);
      if (typeof build === 'string' || obstacle !== undefined) {
        print([fault.name, `skipped: ${obstacle}`]);
        return;
      }
      await installation.goBack(dumpOf(stored), build);
      const ask = async (...args: string[]) =>
        JSON.parse((await build.run(['--json', ...args], installation.environment)).stdout);
      const { organizationId } = await ask('organization', 'create', '--name', 'Upgraded');
      const unlimited = ['--name', 'Load', '--rate-limit', 'unlimited'];
      const made = await ask('api-key', 'create', '--organization', organizationId, ...unlimited);
      await endure(fault, { organizationId, key: made.key ?? made.apiKey }, stored);
      await expectProofs();
    },
    LONGEST_MS,
  );
});

/**
 * Strikes while clients work, and compares afterwards.
 *
 * @param stored the database of an earlier version that instances are upgraded from: its own organization is compared, too
 */
async function endure(fault: Fault, caller: Caller, stored?: StoredDatabase): Promise<void> {
  if (fault.isBalanced) await installation.untilBalanced();
  const checker = new Checker();
  const origins = fault.isBalanced
    ? [installation.haproxy!.origin]
    : installation.instances.map(({ origin }) => origin);
  const load = new Load(origins, caller, checker, stored === undefined);
  await load.stable(REST_MS);
  const begun = performance.now();
  await fault.strike(installation, FAULT_MS);
  const over = performance.now();
  if (fault.isLasting) await sleep(FAULT_MS);
  // What the first versions did not know is counted from here on.
  caller.records ??= await installation.makeRecords(caller);
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
  histories.push({ ...caller, after: fault.name, exported: found.exported });
  if (stored) await expectKept(stored);
}

/** What an earlier version stored is answered as it answered it, and its history can be proved. */
async function expectKept(stored: StoredDatabase): Promise<void> {
  const { organizationId, key } = stored;
  const client = new Client(installation.instances[0]!.origin, organizationId, key);
  await expectAnswers(stored, client);
  const { status, body } = await client.get('event.export-events');
  expect(status).toBe(200);
  histories.push({ after: stored.name, organizationId, key, exported: body });
}

/** Both verifiers prove every history to its end, and the read models are what the events make. */
async function expectProofs(): Promise<void> {
  const runtime = await openRuntime(readConfig(installation.environment), new JsonLogger('silent'));
  try {
    for (const { after, organizationId, key, exported } of histories.splice(0)) {
      const events = exported.split('\n').length - 1;
      const client = new Client(installation.instances[0]!.origin, organizationId, key);
      let checkpoint!: string;
      await eventually(async () => {
        const { body } = await client.get('event.get-checkpoint');
        expect([after, body.data.size]).toEqual([after, events]);
        ({ checkpoint } = body.data);
      });
      const verdict = await verifyTwice(exported, checkpoint, runtime.signer.verifierKey);
      expect([after, verdict]).toEqual([after, expect.objectContaining({ ok: true, provedEvents: events })]);
    }
    for (const { name, failure } of await runtime.projections.status()) {
      expect([name, failure, await runtime.projections.verify(name)]).toEqual([name, null, []]);
    }
  } finally {
    await runtime.close();
  }
}

function routeOf({ route }: Fault): Route {
  return route ?? 'direct';
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
