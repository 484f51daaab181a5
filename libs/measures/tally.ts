/** Counts occurrences by name. Names must come from closed lists, because they are kept forever. */
export class Tally {
  private readonly counts = new Map<string, number>();

  /** @param names shown with 0 from the beginning. A counter that does not exist yet cannot rise. */
  constructor(names: readonly string[] = []) {
    this.expect(names);
  }

  /** Shows these names with 0 from now on. */
  expect(names: readonly string[]): void {
    for (const name of names) if (!this.counts.has(name)) this.counts.set(name, 0);
  }

  add(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  entries(): [name: string, count: number][] {
    return [...this.counts];
  }
}
