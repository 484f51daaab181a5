/** Questions of one kind that are on their way at once. Fewer would wait for each other's round trip, more hold less each. */
const AT_ONCE = 2;

type Waiting<Key, Answer> = {
  key: Key;
  resolve: (answer: Answer | undefined) => void;
  reject: (error: unknown) => void;
};

/**
 * Single records that are asked for at the same moment are asked for in one statement: all whose turn of the event loop it
 * is, and while two statements are under way all who come meanwhile. None is answered by a statement that began before it
 * was asked for. Measured with 64 callers, Node 20: 370 µs of PostgreSQL for one record alone, 30 as one of 30.
 */
export class BatchLoader<Key, Answer> {
  private waiting: Waiting<Key, Answer>[] = [];
  private underWay = 0;

  /**
   * @param ask the answers by the key's name; what is not there is left out.
   * @param nameOf what tells keys apart: who asks for the same is told the same object.
   * @param most keys of one statement, where it changes told anew: what they may bring should be some megabytes at most.
   */
  constructor(
    private readonly ask: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Answer>>,
    private readonly nameOf: (key: Key) => string,
    private readonly most: number | (() => number),
  ) {}

  /** Nobody waits for anything. */
  get isIdle(): boolean {
    return this.underWay === 0 && this.waiting.length === 0;
  }

  load(key: Key): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ key, resolve, reject });
      if (this.waiting.length === 1) setImmediate(() => this.askNext());
    });
  }

  private askNext(): void {
    while (this.underWay < AT_ONCE && this.waiting.length > 0) {
      const { taken, keys } = this.take();
      this.underWay += 1;
      this.ask([...keys.values()])
        .finally(() => {
          this.underWay -= 1;
          this.askNext();
        })
        .then(
          (answers) => taken.forEach(({ key, resolve }) => resolve(answers.get(this.nameOf(key)))),
          (error: unknown) => taken.forEach(({ reject }) => reject(error)),
        );
    }
  }

  private take(): { taken: Waiting<Key, Answer>[]; keys: Map<string, Key> } {
    const keys = new Map<string, Key>();
    const most = typeof this.most === 'number' ? this.most : this.most();
    let count = 0;
    for (; count < this.waiting.length && keys.size < most; count += 1) {
      const { key } = this.waiting[count]!;
      keys.set(this.nameOf(key), key);
    }
    return { taken: this.waiting.splice(0, count), keys };
  }
}
