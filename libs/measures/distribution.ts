/** A histogram. Counting a value costs a tenth of a microsecond, so it is always enabled and read on demand. */
export class Distribution {
  /**
   * By bound: the values up to it and above the previous one. The last count is of the values above all bounds.
   */
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

  /** For each bound, the number of values up to it; then the number of all values. */
  cumulative(): number[] {
    let count = 0;
    return this.counts.map((own) => (count += own));
  }
}

/** Bounds in seconds for requests and database calls. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
