/**
 * How often what was measured fell below each of some bounds. Counting costs a tenth of a microsecond, so that it is always done;
 * whoever wants to know reads it when they want to.
 */
export class Distribution {
  /** Per bound, what fell at or below it and above the one before; the last one holds what was above all. */
  private readonly counts: number[];
  private total = 0;

  /** @param bounds ascending. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]!) at += 1;
    this.counts[at]! += 1;
    this.total += value;
  }

  get sum(): number {
    return this.total;
  }

  /** What was at or below each bound, and then all: never less than the one before. */
  cumulative(): number[] {
    let count = 0;
    return this.counts.map((own) => (count += own));
  }
}

/** Seconds: what a request or a call to the database takes. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
