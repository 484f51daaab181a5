import { createHash } from 'node:crypto';

/** A statement that repeats this often is prepared. */
const OFTEN = 5;
/** PostgreSQL keeps the plan of each in every connection that ran it: mostly 10 to 30 KB. */
const MOST = 200;
/** Texts whose repetitions are counted at one time. */
const MOST_COUNTED = 2_000;

/** The statements that the connections of one pool prepare, so that each connection parses and plans them only once. */
export class PreparedNames {
  private readonly repetitions = new Map<string, number>();
  private readonly names = new Map<string, string>();
  private readonly never = new Set<string>();

  /**
   * The name is a digest of the text: should another process's statement with this name ever be met, it is the same one.
   *
   * @returns undefined for a statement that is not repeated often enough.
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

  /** From now on the statement is parsed each time. */
  giveUp(text: string): void {
    this.names.delete(text);
    if (this.never.size < MOST_COUNTED) this.never.add(text);
  }
}
