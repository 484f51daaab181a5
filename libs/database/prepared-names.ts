import { createHash } from 'node:crypto';

/** A statement is prepared after this many runs. */
const OFTEN = 5;
/** The maximum number of prepared statements. PostgreSQL keeps each plan, mostly 10 to 30 KB, per connection. */
const MOST = 200;
/** The maximum number of statements whose runs are counted. */
const MOST_COUNTED = 2_000;

/** The prepared statements of a pool. Each of its connections parses and plans them only once. */
export class PreparedNames {
  private readonly repetitions = new Map<string, number>();
  private readonly names = new Map<string, string>();
  private readonly never = new Set<string>();

  /**
   * The name is a digest of the text, so that equal names of different processes mean the same statement.
   *
   * @returns undefined if the statement is not prepared.
   */
  nameOf(text: string): string | undefined {
    const name = this.names.get(text);
    if (name !== undefined || this.names.size >= MOST || this.never.has(text)) return name;
    const count = (this.repetitions.get(text) ?? 0) + 1;
    if (count < OFTEN) {
      if (this.repetitions.size >= MOST_COUNTED) this.repetitions.clear();
      this.repetitions.set(text, count);
      return undefined;
    }
    this.repetitions.delete(text);
    const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
    this.names.set(text, digest);
    return digest;
  }

  /** Stops preparing a statement. */
  giveUp(text: string): void {
    this.names.delete(text);
    if (this.never.size < MOST_COUNTED) this.never.add(text);
  }
}
