/** Caches values for a fixed time. Concurrent requests for a key share one computation. */
export class TtlCache<Value> {
  /** In the order of expiry. */
  private readonly values = new Map<string, { value: Promise<Value>; until: number; bytes: number }>();
  private bytes = 0;

  /**
   * @param most the maximum number of entries. When it is reached, all are dropped.
   * @param sizeOf the size of a value in bytes.
   * @param mostBytes the maximum total size. Beyond it, the oldest entries are dropped.
   */
  constructor(
    private readonly milliseconds = 1_000,
    private readonly most = 1_000,
    private readonly sizeOf: (value: Value) => number = () => 0,
    private readonly mostBytes = 32 * 1024 * 1024,
  ) {}

  /** The number of entries and their total size. */
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
      (result) => {
        if (this.values.get(key) !== entry) return;
        entry.bytes = this.sizeOf(result);
        this.bytes += entry.bytes;
        for (const old of this.values.keys()) {
          if (this.bytes <= this.mostBytes) break;
          this.forget(old);
        }
      },
      // Failures are not cached.
      () => {
        if (this.values.get(key) === entry) this.forget(key);
      },
    );
    return value;
  }

  /** Drops an entry, so that the next request computes it again. */
  forget(key: string): void {
    const entry = this.values.get(key);
    if (!entry) return;
    this.bytes -= entry.bytes;
    this.values.delete(key);
  }
}
