/** What is asked for again and again is made once in so long: a hundred thousand readers cost what one costs. */
export class Kept<Value> {
  private readonly values = new Map<string, { value: Promise<Value>; until: number }>();

  /** @param most then all are forgotten. */
  constructor(
    private readonly milliseconds = 1_000,
    private readonly most = 1_000,
  ) {}

  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.values.get(key);
    if (known && performance.now() < known.until) return known.value;
    if (this.values.size >= this.most) this.values.clear();
    const value = make();
    const entry = { value, until: performance.now() + this.milliseconds };
    this.values.set(key, entry);
    // Whoever asks next asks anew.
    value.catch(() => {
      if (this.values.get(key) === entry) this.values.delete(key);
    });
    return value;
  }

  /** Whoever asks next for it asks anew. */
  forget(key: string): void {
    this.values.delete(key);
  }
}
