import { type ReservedConnections } from '#libs/database';
import { type Sealer, type SealingProgress } from '#libs/sealing';

/** Items that wait for background work, in all modules. `…Seconds`: how long the oldest item has waited. */
export type Backlog = Record<(typeof BACKLOG)[number], number>;
const BACKLOG = [
  'recipientsWaiting',
  'recipientsInDoubt',
  'recipientSeconds',
  'webhooksBehind',
  'webhookRetriesDue',
  'webhookRetrySeconds',
  'importsRunning',
  'importSeconds',
  'timersOverdue',
  'timerSeconds',
] as const;

/** The last values from the database. `answered`: whether the last query succeeded in time. */
export type DatabaseFacts = { answered: boolean } & Partial<SealingProgress> & Partial<Backlog>;

/** After this time, a scrape returns the last values. */
const TIMEOUT_MS = 1_000;

/** Queries the database for metrics that only it knows. Concurrent scrapes share one query. */
export class ScrapedDatabase {
  private facts: DatabaseFacts = { answered: false };
  private running: Promise<void> | undefined;

  constructor(
    private readonly sealer: Sealer,
    private readonly reserved: ReservedConnections,
    /** SQL queries that each return one row in bounded time. Together they have the columns of `Backlog`. */
    private readonly backlogs: readonly string[],
  ) {}

  async read(): Promise<DatabaseFacts> {
    this.running ??= this.query()
      .then(
        (facts) => {
          this.facts = { answered: true, ...facts };
        },
        () => {
          this.facts = { ...this.facts, answered: false };
        },
      )
      .finally(() => (this.running = undefined));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), TIMEOUT_MS)));
    const found = await Promise.race([this.running, late]);
    clearTimeout(timer);
    return found === 'late' ? { ...this.facts, answered: false } : this.facts;
  }

  private async query(): Promise<SealingProgress & Backlog> {
    const { source } = this.reserved;
    const progress = await this.sealer.progress(source);
    const from = this.backlogs.map((sql, n) => `(${sql}) AS b${n}`).join(', ');
    const [row] = await source.query<Record<string, unknown>[]>(`SELECT * FROM ${from}`);
    const backlog = Object.fromEntries(BACKLOG.map((name) => [name, Number(row![name])]));
    return { ...progress, ...(backlog as Backlog) };
  }
}
