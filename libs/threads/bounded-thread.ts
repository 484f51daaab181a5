import { Worker } from 'node:worker_threads';
import { type Answer, type Job, type Jobs } from './serve-jobs.js';

/** Each look at which job runs. */
const LOOK_MS = 50;
/** A thread has its own copy of the packages it loads, some 20 MB. */
const IDLE_MS = 60_000;

/** The job took more time or memory than it may. */
export class JobStopped extends Error {}

type Waiting = { job: Job; resolve: (value: unknown) => void; reject: (error: unknown) => void };

/**
 * Runs jobs one after another in a worker thread, where they cannot stop the process. A job that takes too long ends the thread; the
 * others run in a new one, so a job may run twice. What a job keeps in its thread may be lost at any time.
 *
 * The thread starts with the first job, ends after a minute without any, and keeps no process alive.
 */
export class BoundedThread<J extends Jobs> {
  private worker: Worker | undefined;
  /** The number of the job that the thread runs; 0 if none. The thread writes it, so no clock and no message is needed. */
  private running = new Int32Array(new SharedArrayBuffer(4));
  private readonly waiting = new Map<number, Waiting>();
  private unsent: Job[] = [];
  private number = 0;
  private looking: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;

  /**
   * @param file calls `serveJobs`.
   * @param limitsMs of processor time for a job, by its name, from when the thread begins it. About 50 ms more can pass.
   * @param memoryMb for what all jobs keep, and the packages.
   */
  constructor(
    private readonly file: URL,
    private readonly limitsMs: { [Name in keyof J]: number },
    private readonly memoryMb = 256,
  ) {}

  /** @throws JobStopped if it took too long or too much memory; otherwise what the job throws. */
  run<Name extends keyof J & string>(
    name: Name,
    ...given: Parameters<J[Name]>
  ): Promise<ReturnType<J[Name]>> {
    this.number = (this.number % 0x7fff_ffff) + 1;
    const job: Job = { number: this.number, name, given };
    const { promise, resolve, reject } = withResolvers();
    this.waiting.set(job.number, { job, resolve, reject });
    this.send(job);
    this.look();
    return promise as Promise<ReturnType<J[Name]>>;
  }

  /** Jobs that wait run in a new thread. */
  async end(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
    this.resend();
  }

  /** A message costs more than a short job: all jobs of a turn go in one. */
  private send(job: Job): void {
    if (this.unsent.push(job) > 1) return;
    queueMicrotask(() => {
      const jobs = this.unsent;
      this.unsent = [];
      if (jobs.length > 0) (this.worker ??= this.start()).postMessage(jobs);
    });
  }

  private start(): Worker {
    this.running = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(this.file, {
      workerData: this.running,
      resourceLimits: { maxOldGenerationSizeMb: this.memoryMb },
    });
    worker.on('message', (answers: Answer[]) => {
      for (const { number, value, error } of answers) {
        const found = this.waiting.get(number);
        this.waiting.delete(number);
        if (error === undefined) found?.resolve(value);
        else found?.reject(error);
      }
    });
    worker.on('error', (error) => {
      if (worker !== this.worker) return;
      const number = Atomics.load(this.running, 0);
      // Between jobs nothing of a job is to blame: the thread itself cannot run.
      if (number > 0) return this.stop(number);
      this.worker = undefined;
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    });
    // After the listeners: each of them would hold the process again.
    worker.unref();
    return worker;
  }

  /** Ends the thread for a job that took too much. */
  private stop(number: number): void {
    const { worker } = this;
    this.worker = undefined;
    // It may take a while: a thread stops between two steps of its program.
    void worker?.terminate();
    this.waiting.get(number)?.reject(new JobStopped('The job took too long or too much memory.'));
    this.waiting.delete(number);
    this.resend();
  }

  private resend(): void {
    this.unsent = [];
    for (const { job } of this.waiting.values()) this.send(job);
  }

  /**
   * Counts the processor time that the process used while one job ran: no job can have taken more. By the clock alone, any job would
   * take too long on a busy machine, or in a process that was frozen.
   */
  private look(): void {
    clearTimeout(this.idle);
    if (this.looking) return;
    let [last, taken, usedBefore] = [0, 0, usedMs()];
    this.looking = setInterval(() => {
      if (this.waiting.size === 0) return this.rest();
      const number = Atomics.load(this.running, 0);
      const used = usedMs();
      taken = number > 0 && number === last ? taken + Math.min(used - usedBefore, LOOK_MS) : 0;
      [last, usedBefore] = [number, used];
      const name = this.waiting.get(number)?.job.name;
      if (name !== undefined && taken >= this.limitsMs[name]!) this.stop(number);
    }, LOOK_MS);
  }

  private rest(): void {
    clearInterval(this.looking);
    this.looking = undefined;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.end(), IDLE_MS).unref();
  }
}

/** By all threads. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** `Promise.withResolvers` of Node.js 22. */
function withResolvers() {
  let resolve!: (value: unknown) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<unknown>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
