import { setTimeout as sleep } from 'node:timers/promises';
import { JsonLogger } from '#libs/operations';
import { readConfig } from '../../src/config/index.js';
import { openRuntime } from '../../src/server/index.js';
import { Client } from '../harness.js';
import { eventually } from '../processes.js';
import { expectAnswers, type StoredDatabase } from '../stored-databases.js';
import { verifyTwice } from '../verifiers.js';
import { Checker } from './checker.js';
import { type Fault } from './faults.js';
import { type Installation } from './installation.js';
import { type Caller, Load } from './load.js';

/**
 * `npm run test:faults` sets the duration of faults that do not end by themselves. Recovery must stay within
 * its bounds for any duration.
 */
const SECONDS = process.env.FAULT_SECONDS;
const FAULT_MS = 1_000 * Number(SECONDS ?? 1.5);
const REST_MS = 500;
/** A pause between stories in the short form, so that other tests get CPU time. */
const BETWEEN_STORIES_MS = SECONDS === undefined ? 60 : 0;
/** Time for restarts of instances and for a long recovery. */
export const LONGEST_MS = 400_000;

/** An organization's history after a fault. */
type Exported = { after: string; organizationId: string; key: string; exported: string };

/** Runs faults against an installation, and prints a row of the table for each. */
export class Endurance {
  private readonly histories: Exported[] = [];

  constructor(private readonly installation: Installation) {
    print(Object.keys(COLUMNS));
  }

  /** Returns whether the fault is impossible here, and prints the reason. */
  skips({ name, obstacle }: Fault, other?: string): boolean {
    const reason = other ?? obstacle?.(this.installation);
    if (reason !== undefined) print([name, `skipped: ${reason}`]);
    return reason !== undefined;
  }

  /**
   * Causes the fault under load, and compares the result.
   *
   * @param stored the database of an earlier version from which instances are upgraded. Its own organization is
   * compared, too.
   */
  async endure(fault: Fault, caller: Caller, stored?: StoredDatabase): Promise<void> {
    const { installation } = this;
    if (fault.isBalanced) await installation.untilBalanced();
    const checker = new Checker(stored !== undefined);
    const origins = fault.isBalanced
      ? [installation.haproxy!.origin]
      : installation.instances.map(({ origin }) => origin);
    const load = new Load(origins, caller, checker, stored === undefined, BETWEEN_STORIES_MS);
    await load.stable(REST_MS);
    for (const instance of installation.instances) instance.forget();
    const begun = performance.now();
    await fault.strike(installation, FAULT_MS);
    const over = performance.now();
    if (fault.isLasting) await sleep(FAULT_MS);
    // Earlier versions have no such records, so their requests only begin here.
    caller.records ??= await installation.makeRecords(caller);
    await load.stable();
    await load.end();

    const found = await installation.find(caller);
    const { lost, doubled } = checker.compare(found);
    const recovery = load.recovery(fault.isLasting ? begun : over);
    print(lineOf(fault, checker, { lost, doubled }, { paused: load.longestPause, ...recovery }));
    const { failures } = installation;
    if (lost.length + doubled.length + checker.outside.length > 0) print(failures);
    expect({ lost, doubled, outside: checker.outside }).toEqual({ lost: [], doubled: [], outside: [] });
    if (fault.isUnnoticed) {
      expect({ answers: Object.fromEntries(checker.failures), failures }).toEqual({
        answers: {},
        failures: [],
      });
    }
    expect(recovery.stable).toBeDefined();
    if (SECONDS !== undefined) expect(recovery.stable).toBeLessThanOrEqual(fault.bound);
    this.histories.push({ ...caller, after: fault.name, exported: found.exported });
    if (stored) await this.expectKept(stored);
  }

  /** Expects that the responses of an earlier version are unchanged, and keeps its history to be verified. */
  private async expectKept(stored: StoredDatabase): Promise<void> {
    const { organizationId, key } = stored;
    const client = new Client(this.installation.instances[0]!.origin, organizationId, key);
    await expectAnswers(stored, client);
    const { status, body } = await client.get('event.export-events');
    expect(status).toBe(200);
    this.histories.push({ after: stored.version, organizationId, key, exported: body });
  }

  /** Expects that both verifiers accept every history to its end, and that the projections match the events. */
  async expectProofs(): Promise<void> {
    const { installation } = this;
    const runtime = await openRuntime(readConfig(installation.environment), new JsonLogger('silent'));
    try {
      for (const { after, organizationId, key, exported } of this.histories.splice(0)) {
        const client = new Client(installation.instances[0]!.origin, organizationId, key);
        const atLeast = exported.split('\n').length - 1;
        let [checkpoint, events] = ['', 0];
        await eventually(async () => {
          const { status, body } = await client.get('event.get-checkpoint');
          expect([after, status]).toEqual([after, 200]);
          ({ checkpoint, size: events } = body.data);
          expect(events).toBeGreaterThanOrEqual(atLeast);
        });
        // The history may have grown since: reading it is recorded, too. The checkpoint proves the beginning of
        // a newer export.
        const { body: whole } = await client.get('event.export-events');
        expect([after, whole.startsWith(exported)]).toEqual([after, true]);
        const verdict = await verifyTwice(whole, checkpoint, runtime.signers.verifierKey);
        expect([after, verdict]).toEqual([
          after,
          expect.objectContaining({ ok: true, provedEvents: events }),
        ]);
      }
      for (const { name, failure } of await runtime.projections.status()) {
        expect([name, failure, await runtime.projections.maintenance.verify(name)]).toEqual([name, null, []]);
      }
    } finally {
      await runtime.close();
    }
  }
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

/** A row of the table. Its times are the longest pause, and the seconds from the end of the fault to recovery. */
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
