import { type ReservedConnections } from '#libs/database';
import { type Sealer, type SealingProgress } from '#libs/sealing';

/** What only the database knows, as it last said. */
export type DatabaseFacts = { answered: boolean } & Partial<SealingProgress>;

/** A scrape waits so long for the database, and then tells what it last said. */
const PATIENCE_MS = 1_000;

/** Asks the database what only it knows; of several questions at once only one is under way. */
export class ScrapedDatabase {
  private facts: DatabaseFacts = { answered: false };
  private asking: Promise<void> | undefined;

  constructor(
    private readonly sealer: Sealer,
    private readonly reserved: ReservedConnections,
  ) {}

  async look(): Promise<DatabaseFacts> {
    this.asking ??= this.sealer
      .progress(this.reserved.source)
      .then(
        (progress) => {
          this.facts = { answered: true, ...progress };
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
}
