/** The queue is full, or the wait was too long. The caller may retry after a moment. */
export class TooManyWaiting extends Error {
  constructor() {
    super('too many statements of one group are waiting');
    this.name = 'TooManyWaiting';
  }
}

type Waiting = { start: () => void; timer: NodeJS.Timeout };

/**
 * Limits how much work runs concurrently, in total and per group. Waiting groups take turns, so a group that exceeds its
 * share delays only itself.
 */
export class FairGate {
  private running = 0;
  private rejected = 0;
  private readonly runningOf = new Map<string, number>();
  /** In the order of the groups' turns. */
  private readonly waitingOf = new Map<string, Waiting[]>();

  /**
   * @param limits.atOnce running work of all groups.
   * @param limits.ofOneGroup running work of one group.
   * @param limits.waiting waiting work of one group.
   */
  constructor(private readonly limits: { atOnce: number; ofOneGroup: number; waiting: number }) {}

  /** How much work is running and waiting now, and how much has been rejected since the start. */
  get use(): { running: number; waiting: number; turnedAway: number } {
    let waiting = 0;
    for (const { length } of this.waitingOf.values()) waiting += length;
    return { running: this.running, waiting, turnedAway: this.rejected };
  }

  /** @throws TooManyWaiting if the group's queue is full, or if the work waited longer than `longestWaitMs`. */
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
      this.rejected += 1;
      throw new TooManyWaiting();
    }
    this.waitingOf.set(group, waiting);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1);
        if (waiting.length === 0) this.waitingOf.delete(group);
        this.rejected += 1;
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
      // Reinserting the group puts its next turn behind all others.
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
