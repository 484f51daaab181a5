import { setTimeout as sleep } from 'node:timers/promises';

/** Rejections per caller and second that are sent immediately. Callers that respect `Retry-After` never reach this number. */
const IMMEDIATE = 50;
/** How long each further rejection is delayed. */
const PAUSE_MS = 1_000;

/**
 * Slows down callers that ignore rejections. A rejection costs a third of a millisecond, and 400 connections that retried
 * immediately caused 2,400 per second, which occupied the CPU. Delaying costs nothing, and `Concurrency` limits the
 * number of delayed requests.
 */
export class Refusals {
  private counts = new Map<string, number>();
  private since = 0;

  /** Counts a rejection of this caller, and resolves when it may be sent. */
  async pause(key: string): Promise<void> {
    const now = performance.now();
    if (now - this.since >= PAUSE_MS) {
      this.counts = new Map();
      this.since = now;
    }
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    if (count > IMMEDIATE) await sleep(PAUSE_MS);
  }
}
