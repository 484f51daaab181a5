import { SingleBar } from 'cli-progress';

const REDRAW_MS = 200;
/** Interval without a terminal, long enough for a log. */
const LOG_MS = 5_000;

/** Progress of the work: a share of a total, such as bytes, or only a count. */
type State = { count: number; done?: number; total?: number };

/** Shows progress on standard error, as a bar if it is a terminal, and otherwise as lines. */
export class Progress {
  private readonly started = Date.now();
  private readonly bar: SingleBar | undefined;
  private readonly timer: NodeJS.Timeout | undefined;

  /**
   * @param things the unit, such as `lines`.
   * @param onlyBar shows no lines, because standard error contains a sentence to quote.
   */
  constructor(
    private readonly things: string,
    private readonly read: () => State,
    onlyBar = false,
  ) {
    if (process.stderr.isTTY) {
      const counted = '{text} | {duration_formatted}';
      const format =
        read().total === undefined ? counted : `{bar} {percentage} % | ${counted}, {eta_formatted} left`;
      this.bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true, etaBuffer: 100 });
      this.bar.start(read().total ?? 1, 0, { text: this.text() });
    }
    if (this.bar || !onlyBar) this.timer = setInterval(() => this.show(), this.bar ? REDRAW_MS : LOG_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    if (this.bar) this.show();
    this.bar?.stop();
  }

  private show(): void {
    const { done = 0, total } = this.read();
    if (this.bar) this.bar.update(done, { text: this.text() });
    else {
      const share = total === undefined ? '' : ` (${Math.floor((100 * done) / Math.max(total, 1))} %)`;
      process.stderr.write(`${this.text()}${share}\n`);
    }
  }

  private text(): string {
    const { count } = this.read();
    const rate = Math.round((1_000 * count) / Math.max(Date.now() - this.started, 1));
    return `${count.toLocaleString('en')} ${this.things}, ${rate.toLocaleString('en')}/s`;
  }
}
