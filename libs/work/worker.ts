import { setTimeout as sleep } from 'node:timers/promises';
import { type IncidentLog } from '#libs/database';

/** Logs an error. @param isRepeated whether this work has failed since it last succeeded: most log that once. */
type Report = (error: unknown, work: string, isRepeated: boolean) => void;

/**
 * Background work of one instance: loops that take turns until the worker is stopped. A turn that fails is reported,
 * and the loop continues.
 */
export class Worker {
  private readonly stopping = new AbortController();
  private readonly loops: Promise<void>[] = [];
  private readonly failing = new Set<string>();
  /** Aborted when the worker is asked to stop. */
  readonly signal = this.stopping.signal;

  /**
   * @param report not called for errors of a worker that is stopping, nor for problems of the database that
   *   `incidents` logs.
   */
  constructor(
    private readonly report: Report,
    private readonly incidents?: IncidentLog,
  ) {}

  /**
   * Starts a loop. Each turn ends before the next one starts.
   *
   * @param wait resolves when the next turn is due, or the signal is aborted. Must not reject.
   * @param work names the loop in reports.
   */
  start(turn: () => Promise<unknown>, wait: (hasFailed: boolean) => Promise<void>, work = ''): void {
    this.loops.push(this.loop(turn, wait, work));
  }

  /** Resolves when the turns in progress have ended. No other turn starts. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops);
  }

  /** Resolves after `ms` milliseconds, or when the worker is asked to stop. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal, ref: false }).catch(() => undefined);
  }

  /** @returns whether the work succeeded. If not, the error was reported. */
  async attempt(work: string, run: () => Promise<unknown>): Promise<boolean> {
    try {
      await run();
      this.failing.delete(work);
      return true;
    } catch (error) {
      const isReported = this.signal.aborted || this.incidents?.report(error) === true;
      if (!isReported) this.report(error, work, this.failing.has(work));
      this.failing.add(work);
      return false;
    }
  }

  private async loop(
    turn: () => Promise<unknown>,
    wait: (hasFailed: boolean) => Promise<void>,
    work: string,
  ): Promise<void> {
    while (!this.signal.aborted) await wait(!(await this.attempt(work, turn)));
  }
}
