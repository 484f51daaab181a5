/** Nothing more is taken in now: the caller may try again in a moment. */
export class TooManyWaiting extends Error {
  constructor() {
    super('too many statements of one group are waiting');
    this.name = 'TooManyWaiting';
  }
}

type Waiting = { start: () => void; timer: NodeJS.Timeout };

/**
 * Lets so much work run at once, of one group only a part of it, and of the groups that wait one after another in turn:
 * a group that brings more than its part waits behind itself.
 */
export class FairGate {
  private running = 0;
  private turnedAway = 0;
  private readonly runningOf = new Map<string, number>();
  /** In the order in which groups have their turns. */
  private readonly waitingOf = new Map<string, Waiting[]>();

  /**
   * @param limits.atOnce work that runs, of all groups; limits.ofOneGroup of it; limits.waiting of one group beside.
   */
  constructor(private readonly limits: { atOnce: number; ofOneGroup: number; waiting: number }) {}

  /** What runs and waits now, and how much was turned away so far. */
  get use(): { running: number; waiting: number; turnedAway: number } {
    let waiting = 0;
    for (const { length } of this.waitingOf.values()) waiting += length;
    return { running: this.running, waiting, turnedAway: this.turnedAway };
  }

  /** @throws TooManyWaiting when the group has too much waiting, or had to wait longer than this. */
  async run<Result>(group: string, longestWaitMs: number, work: () => Promise<Result>): Promise<Result> {
    await this.enter(group, longestWaitMs);
    try {
      return await work();
    } finally {
      this.leave(group);
    }
  }

  private enter(group: string, longestWaitMs: number): Promise<void> | void {
    if (this.hasRoom(group)) return this.start(group);
    const waiting = this.waitingOf.get(group) ?? [];
    if (waiting.length >= this.limits.waiting) {
      this.turnedAway += 1;
      throw new TooManyWaiting();
    }
    this.waitingOf.set(group, waiting);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1);
        if (waiting.length === 0) this.waitingOf.delete(group);
        this.turnedAway += 1;
        reject(new TooManyWaiting());
      }, longestWaitMs);
      const one = { start: resolve, timer };
      waiting.push(one);
    });
  }

  private leave(group: string): void {
    this.running -= 1;
    const left = this.runningOf.get(group)! - 1;
    if (left > 0) this.runningOf.set(group, left);
    else this.runningOf.delete(group);

    for (const [next, waiting] of this.waitingOf) {
      if (!this.hasRoom(next)) continue;
      // Its next turn is after everybody else's.
      this.waitingOf.delete(next);
      const { start, timer } = waiting.shift()!;
      if (waiting.length > 0) this.waitingOf.set(next, waiting);
      clearTimeout(timer);
      this.start(next);
      start();
      return;
    }
  }

  private hasRoom(group: string): boolean {
    return this.running < this.limits.atOnce && (this.runningOf.get(group) ?? 0) < this.limits.ofOneGroup;
  }

  private start(group: string): void {
    this.running += 1;
    this.runningOf.set(group, (this.runningOf.get(group) ?? 0) + 1);
  }
}
