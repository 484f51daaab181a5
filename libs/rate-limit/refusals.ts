import { setTimeout as sleep } from 'node:timers/promises';

/** So many requests of one caller are refused at once within a second; whoever minds `Retry-After` never has as many. */
const AT_ONCE = 50;
/** Milliseconds that each one beyond waits for its refusal. */
const PAUSE = 1_000;

/**
 * Slows down who does not mind being refused. A refusal costs a third of a millisecond, and 400 connections that ask again
 * at once made 2,400 a second: the processor was theirs, although nothing of it was answered. Waiting costs nothing,
 * and their number is bounded (`Concurrency`).
 */
export class Refusals {
  private counts = new Map<string, number>();
  private since = 0;

  /** Counts a refusal of this caller, and resolves when it may be told. */
  async pause(key: string): Promise<void> {
    const now = performance.now();
    if (now - this.since >= PAUSE) {
      this.counts = new Map();
      this.since = now;
    }
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    if (count > AT_ONCE) await sleep(PAUSE);
  }
}
