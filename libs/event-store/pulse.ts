import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql } from '#libs/database';
import { type AppendCommand } from './append.js';

/** What another instance appends is noticed within 250 ms. */
const LOOK_MS = 235;
/** After a look that failed. */
const REST_MS = 1_000;
/** A look that takes longer than this stands in nobody's way: somebody may hold a lock on one of the tables. */
const TIMEOUT_MS = 2_000;
/** What is appended here within so long is one reason to work, not many. */
const GATHER_MS = 20;

/** One kind of background work, waiting for something to do. */
export class Poller {
  private release: (() => void) | undefined;
  private isWoken = false;
  private gathering: NodeJS.Timeout | undefined;

  constructor(
    readonly question: string,
    readonly concerns: (appended: AppendCommand) => boolean,
    private readonly begin: () => void,
  ) {}

  get isWaiting(): boolean {
    return this.release !== undefined;
  }

  /** Ends the wait, or the next one where nobody waits. */
  wake(): void {
    if (this.release) this.release();
    else this.isWoken = true;
  }

  wakeSoon(): void {
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      this.wake();
    }, GATHER_MS).unref();
  }

  /** Resolves when the answer is yes, when somebody wakes it, when the signal is aborted, and after `atMostMs` in any case. */
  async next(signal: AbortSignal, atMostMs: number): Promise<void> {
    if (!this.isWoken && !signal.aborted) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.release = resolve;
        timer = setTimeout(resolve, atMostMs).unref();
        signal.addEventListener('abort', this.release);
        this.begin();
      });
      clearTimeout(timer);
      signal.removeEventListener('abort', this.release!);
      this.release = undefined;
    }
    this.isWoken = false;
  }
}

/**
 * Asks PostgreSQL on behalf of all background work of an instance whether there is anything to do: one statement, four times a
 * second, however many kinds of work, organizations and webhooks there are. Asks nothing while nobody waits.
 */
export class Pulse {
  private readonly watches: Poller[] = [];
  private statement = '';
  private looking: Promise<void> | undefined;
  private asking: Promise<boolean[]> | undefined;
  /** When PostgreSQL last answered (`performance.now()`). */
  answeredAt = -Infinity;

  constructor(private readonly source: Sql) {}

  /**
   * @param question an SQL expression that is true while there is something to do. It must cost next to nothing, and may name
   *   `h.horizon`, see `event_horizon()`.
   * @param concerns whether an append of this instance is a reason to work at once.
   */
  watch(question: string, concerns: (appended: AppendCommand) => boolean = () => false): Poller {
    const watch = new Poller(question, concerns, () => {
      this.looking ??= this.lookWhileAwaited();
    });
    this.watches.push(watch);
    const answers = this.watches.map(({ question: asked }) => `coalesce((${asked}), false)`);
    this.statement = `WITH h AS MATERIALIZED (SELECT event_horizon() AS horizon) SELECT ARRAY[${answers.join(', ')}] AS answers FROM h`;
    return watch;
  }

  appended(command: AppendCommand): void {
    for (const watch of this.watches) if (watch.concerns(command)) watch.wakeSoon();
  }

  private async lookWhileAwaited(): Promise<void> {
    await sleep(LOOK_MS, undefined, { ref: false });
    for (;;) {
      const waiting = this.watches.filter(({ isWaiting }) => isWaiting);
      if (waiting.length === 0) break;
      const answers = await this.ask();
      // Each looks for itself then: one table that is locked holds up no work on the others, and each says what failed.
      for (const watch of waiting) if (answers?.[this.watches.indexOf(watch)] ?? true) watch.wake();
      await sleep(answers ? LOOK_MS : REST_MS, undefined, { ref: false });
    }
    this.looking = undefined;
  }

  /** @returns undefined where there is no answer in time; what is under way is not asked a second time. */
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
