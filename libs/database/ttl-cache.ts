/** What is asked for again and again is made once in so long: a hundred thousand readers cost what one costs. */
export class TtlCache<Value> {
  /** In the order in which they expire. */
  private readonly values = new Map<string, { value: Promise<Value>; until: number; bytes: number }>();
  private bytes = 0;

  /**
   * @param most then all are forgotten.
   * @param sizeOf bytes of a value.
   * @param mostBytes then the oldest are forgotten.
   */
  constructor(
    private readonly milliseconds = 1_000,
    private readonly most = 1_000,
    private readonly sizeOf: (value: Value) => number = () => 0,
    private readonly mostBytes = 32 * 1024 * 1024,
  ) {}

  /** How many are held, and how large they are. */
  get held(): { values: number; bytes: number } {
    return { values: this.values.size, bytes: this.bytes };
  }

  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const now = performance.now();
    const known = this.values.get(key);
    if (known && now < known.until) return known.value;
    this.forget(key);
    for (const [old, { until }] of this.values) {
      if (now < until) break;
      this.forget(old);
    }
    if (this.values.size >= this.most) for (const old of [...this.values.keys()]) this.forget(old);
    const value = make();
    const entry = { value, until: now + this.milliseconds, bytes: 0 };
    this.values.set(key, entry);
    value.then(
      (made) => {
        if (this.values.get(key) !== entry) return;
        entry.bytes = this.sizeOf(made);
        this.bytes += entry.bytes;
        for (const old of this.values.keys()) {
          if (this.bytes <= this.mostBytes) break;
          this.forget(old);
        }
      },
      // Whoever asks next asks anew.
      () => {
        if (this.values.get(key) === entry) this.forget(key);
      },
    );
    return value;
  }

  /** Whoever asks next for it asks anew. */
  forget(key: string): void {
    const entry = this.values.get(key);
    if (!entry) return;
    this.bytes -= entry.bytes;
    this.values.delete(key);
  }
}
