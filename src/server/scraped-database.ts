import { type ReservedConnections } from '#libs/database';
import { type Sealer, type SealingProgress } from '#libs/sealing';

/** What waits for background work, in all modules. `…Seconds`: how long the oldest item has waited. */
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

/** The database's last answer. */
export type DatabaseFacts = { answered: boolean } & Partial<SealingProgress> & Partial<Backlog>;

/** After this time, a scrape returns the database's last answer. */
const PATIENCE_MS = 1_000;

/** Queries the database for metrics that only it knows. Concurrent scrapes share one query. */
export class ScrapedDatabase {
  private facts: DatabaseFacts = { answered: false };
  private asking: Promise<void> | undefined;

  constructor(
    private readonly sealer: Sealer,
    private readonly reserved: ReservedConnections,
    /** SQL queries of one row each, bounded, which together have the columns of `Backlog`. */
    private readonly backlogs: readonly string[],
  ) {}

  async look(): Promise<DatabaseFacts> {
    this.asking ??= this.ask()
      .then(
        (facts) => {
          this.facts = { answered: true, ...facts };
        },
        () => {
          this.facts = { ...this.facts, answered: false };
        },
      )
      .finally(() => (this.asking = undefined));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), PATIENCE_MS)));
    const found = await Promise.race([this.asking, late]);
    clearTimeout(timer);
    return found === 'late' ? { ...this.facts, answered: false } : this.facts;
  }

  private async ask(): Promise<SealingProgress & Backlog> {
    const { source } = this.reserved;
    const progress = await this.sealer.progress(source);
    const from = this.backlogs.map((sql, n) => `(${sql}) AS b${n}`).join(', ');
    const [row] = await source.query<Record<string, unknown>[]>(`SELECT * FROM ${from}`);
    const backlog = Object.fromEntries(BACKLOG.map((name) => [name, Number(row![name])]));
    return { ...progress, ...(backlog as Backlog) };
  }
}
