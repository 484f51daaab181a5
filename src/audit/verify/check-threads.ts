import { Worker } from 'node:worker_threads';
import { type Batch, type CheckedLines } from '#libs/verify';

/** Lines of an export of this organization. */
export type Lines = { lines: Uint8Array; organizationId: string };

/** Threads that check events one by one. */
export class CheckThreads {
  private readonly threads: { worker: Worker; waiting: Waiting[] }[];
  private next = 0;

  constructor(readonly count: number) {
    this.threads = Array.from({ length: count }, () => {
      const worker = new Worker(new URL('./check-thread.js', import.meta.url));
      const waiting: Waiting[] = [];
      worker.on('message', (checked: CheckedLines | Batch) => waiting.shift()!.resolve(checked as never));
      worker.on('error', (error) => {
        for (const { reject } of waiting.splice(0)) reject(error);
      });
      return { worker, waiting };
    });
  }

  checkLines(lines: Uint8Array, organizationId: string): Promise<CheckedLines> {
    // Sends a copy: a transfer detaches the whole buffer, which also contains the beginning of the next line.
    const own = new Uint8Array(lines);
    return this.send({ lines: own, organizationId } satisfies Lines, [own.buffer]);
  }

  checkStored(events: readonly string[]): Promise<Batch> {
    return this.send(events, []);
  }

  /** Assigns work to the threads in turn. */
  private send<Checked>(given: unknown, moved: ArrayBuffer[]): Promise<Checked> {
    const { worker, waiting } = this.threads[this.next]!;
    this.next = (this.next + 1) % this.count;
    const checked = new Promise<Checked>((resolve, reject) => {
      waiting.push({ resolve, reject });
      worker.postMessage(given, moved);
    });
    // A caller that stops early does not await the result.
    checked.catch(() => undefined);
    return checked;
  }

  async end(): Promise<void> {
    await Promise.all(this.threads.map(({ worker }) => worker.terminate()));
  }
}

type Waiting = { resolve: (checked: never) => void; reject: (error: unknown) => void };
