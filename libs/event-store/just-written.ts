/** Bytes that are kept, and for how long. */
const MOST_BYTES = 4_000_000;
const KEPT_MS = 1_000;

/** Values that this process has just stored. Each can be taken once, within a second. */
export class JustWritten<Value> {
  private readonly values = new Map<string, { value: Value; bytes: number }>();
  private bytes = 0;
  private clearing: NodeJS.Timeout | undefined;

  get isEmpty(): boolean {
    return this.values.size === 0;
  }

  /** @param bytes its approximate size. */
  put(id: string, value: Value, bytes: number): void {
    this.take(id);
    this.values.set(id, { value, bytes });
    this.bytes += bytes;
    while (this.bytes > MOST_BYTES) this.take(this.values.keys().next().value!);
    this.clearing ??= setTimeout(() => this.clear(), KEPT_MS).unref();
  }

  /** Returns a value once. */
  take(id: string): Value | undefined {
    const known = this.values.get(id);
    if (this.values.delete(id)) this.bytes -= known!.bytes;
    return known?.value;
  }

  private clear(): void {
    this.clearing = undefined;
    this.values.clear();
    this.bytes = 0;
  }
}
