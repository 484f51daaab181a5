import { Worker } from 'node:worker_threads';
import { type CheckedLines } from './lines.js';

/** Threads that check lines. */
export class LineThreads {
  private readonly threads: { worker: Worker; waiting: Waiting[] }[];
  private next = 0;

  constructor(
    readonly count: number,
    organizationId: string,
  ) {
    this.threads = Array.from({ length: count }, () => {
      const worker = new Worker(new URL('./line-thread.js', import.meta.url), {
        workerData: { organizationId },
      });
      const waiting: Waiting[] = [];
      worker.on('message', (checked: CheckedLines) => waiting.shift()!.resolve(checked));
      worker.on('error', (error) => {
        for (const { reject } of waiting.splice(0)) reject(error);
      });
      return { worker, waiting };
    });
  }

  /** The threads take turns. */
  check(lines: Uint8Array): Promise<CheckedLines> {
    const { worker, waiting } = this.threads[this.next]!;
    this.next = (this.next + 1) % this.count;
    // What is sent is gone here, and the rest of the buffer holds the beginning of the next line.
    const own = new Uint8Array(lines);
    const checked = new Promise<CheckedLines>((resolve, reject) => {
      waiting.push({ resolve, reject });
      worker.postMessage(own, [own.buffer]);
    });
    // Who stops in between waits for nothing.
    checked.catch(() => undefined);
    return checked;
  }

  async end(): Promise<void> {
    await Promise.all(this.threads.map(({ worker }) => worker.terminate()));
  }
}

type Waiting = { resolve: (checked: CheckedLines) => void; reject: (error: unknown) => void };
