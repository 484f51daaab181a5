/**
 * Events per transaction: enough for set-based statements, and few enough to take about a second, because the other
 * instances wait for the lease during that time. An idle machine processes 5,000. With twenty processes on it, 16 MiB
 * of contacts took 4 s.
 */
const LARGEST = 5_000;
const FIRST = 500;
const LONG_PAGE_MS = 1_000;

/** How many events the next page has: half as many after a page that was slow or failed, twice as many after a fast one. */
export class PageSize {
  private events = FIRST;

  get limit(): number {
    return this.events;
  }

  fit(tookMs: number): void {
    if (tookMs > LONG_PAGE_MS) this.halve();
    else if (tookMs < LONG_PAGE_MS / 2) this.events = Math.min(2 * this.events, LARGEST);
  }

  /** @param failed the events of the page that failed, if it had fewer than it could have. */
  halve(failed = this.events): void {
    this.events = Math.ceil(failed / 2);
  }
}
