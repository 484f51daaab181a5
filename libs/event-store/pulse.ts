import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql } from '#libs/database';
import { type AppendCommand } from './append.js';

/** Appends of other instances are noticed within 250 ms, or within a second if there was nothing to do for a while. */
const POLL_MS = 235;
const IDLE_POLL_MS = 940;
/** Without any work for this time, an instance counts as idle. */
const IDLE_AFTER_MS = 10_000;
/** The pause after a poll that failed. */
const RETRY_MS = 1_000;
/** After this time, all work starts without waiting for the poll, because one of the tables may be locked. */
const TIMEOUT_MS = 2_000;
/** Appends of this instance within this time wake the work once. */
const GATHER_MS = 20;

/** Waits on behalf of one kind of background work, which may run in several loops. */
export class Poller {
  private readonly waiting = new Set<() => void>();
  private isWoken = false;
  private gathering: NodeJS.Timeout | undefined;

  constructor(
    readonly question: string,
    readonly concerns: (appended: AppendCommand) => boolean,
    private readonly begin: () => void,
  ) {}

  get isWaiting(): boolean {
    return this.waiting.size > 0;
  }

  /** Ends the current waits, or otherwise the next one. */
  wake(): void {
    if (!this.isWaiting) this.isWoken = true;
    for (const release of this.waiting) release();
  }

  wakeSoon(): void {
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      this.wake();
    }, GATHER_MS).unref();
  }

  /** Resolves when there is work, when woken, when the signal is aborted, and after `atMostMs` milliseconds at the latest. */
  async next(signal: AbortSignal, atMostMs: number): Promise<void> {
    if (!this.isWoken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const release = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', release);
          this.waiting.delete(release);
          resolve();
        };
        const timer = setTimeout(release, atMostMs).unref();
        signal.addEventListener('abort', release);
        this.waiting.add(release);
        this.begin();
      });
    }
    this.isWoken = false;
  }
}

/**
 * Polls PostgreSQL for all background work of an instance: one statement, four times a second, regardless of the number of
 * kinds of work, organizations and webhooks. Polls once a second if there was nothing to do for a while, and not at all while
 * all work is busy.
 */
export class Pulse {
  private readonly watches: Poller[] = [];
  private statement = '';
  private polling: Promise<void> | undefined;
  private asking: Promise<boolean[]> | undefined;
  /** When PostgreSQL last answered (`performance.now()`). */
  answeredAt = -Infinity;
  private busyAt = performance.now();

  /** @param idleAfterMs the time without work after which it polls less often. */
  constructor(
    private readonly source: Sql,
    private readonly idleAfterMs = IDLE_AFTER_MS,
  ) {}

  /**
   * @param question an SQL expression that is true while there is work. It must be very cheap, and may use `h.horizon`; see
   *   `event_horizon()`.
   * @param concerns whether an append of this instance wakes the work immediately.
   */
  watch(question: string, concerns: (appended: AppendCommand) => boolean = () => false): Poller {
    const watch = new Poller(question, concerns, () => {
      this.polling ??= this.pollWhileAwaited();
    });
    this.watches.push(watch);
    const answers = this.watches.map((one) => `coalesce((${one.question}), false)`);
    this.statement = `WITH h AS MATERIALIZED (SELECT event_horizon() AS horizon) SELECT ARRAY[${answers.join(', ')}] AS answers FROM h`;
    return watch;
  }

  appended(command: AppendCommand): void {
    this.busyAt = performance.now();
    for (const watch of this.watches) if (watch.concerns(command)) watch.wakeSoon();
  }

  private async pollWhileAwaited(): Promise<void> {
    await sleep(POLL_MS, undefined, { ref: false });
    for (;;) {
      const waiting = this.watches.filter(({ isWaiting }) => isWaiting);
      if (waiting.length === 0) break;
      const answers = await this.ask();
      // Without answers, all work starts. So a locked table does not delay work on others, and each reports its own errors.
      for (const watch of waiting) if (answers?.[this.watches.indexOf(watch)] ?? true) watch.wake();
      if (answers?.includes(true)) this.busyAt = performance.now();
      const isIdle = performance.now() - this.busyAt > this.idleAfterMs;
      const pollMs = isIdle ? IDLE_POLL_MS : POLL_MS;
      await sleep(answers ? pollMs : RETRY_MS, undefined, { ref: false });
    }
    this.polling = undefined;
  }

  /** @returns undefined if there is no response in time. A statement that is still running is not sent again. */
  private async ask(): Promise<boolean[] | undefined> {
    this.asking ??= this.answers().finally(() => (this.asking = undefined));
    const late = new AbortController();
    try {
      return await Promise.race([
        this.asking,
        sleep(TIMEOUT_MS, undefined, { ref: false, signal: late.signal }),
      ]);
    } catch {
      return undefined;
    } finally {
      late.abort();
    }
  }

  private async answers(): Promise<boolean[]> {
    const [row] = await this.source.query<{ answers: boolean[] }[]>(this.statement, []);
    this.answeredAt = performance.now();
    return row!.answers;
  }
}
