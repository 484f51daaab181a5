/** How often each of a few things happened. Names come from closed lists: they are kept for ever. */
export class Tally {
  private readonly counts = new Map<string, number>();

  /** Names that are shown from the beginning, with 0: what is not there cannot rise. */
  constructor(names: readonly string[] = []) {
    for (const name of names) this.counts.set(name, 0);
  }

  add(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  entries(): [name: string, count: number][] {
    return [...this.counts];
  }
}
