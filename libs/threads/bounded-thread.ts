import { Worker } from 'node:worker_threads';
import { type Answer, type Job, type Jobs } from './serve-jobs.js';

/** How often the running job is checked. */
const CHECK_MS = 50;
/** A thread has its own copy of the packages it loads, some 20 MB. */
const IDLE_MS = 60_000;

/** The job exceeded its limit of time or memory. */
export class JobStopped extends Error {}

type Waiting = { job: Job; resolve: (value: unknown) => void; reject: (error: unknown) => void };

/**
 * Runs jobs one after another in a worker thread, where they cannot block the process. A job that takes too long ends the
 * thread. The others run in a new one, so a job may run twice. State that a job keeps in its thread may be lost at any time.
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
  private checking: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;

  /**
   * @param file the thread's program, which calls `serveJobs`.
   * @param limitsMs the CPU time that a job may use, by its name. A job may exceed it by about 50 ms.
   * @param memoryMb the thread's memory, for packages and all that its jobs keep.
   */
  constructor(
    private readonly file: URL,
    private readonly limitsMs: { [Name in keyof J]: number },
    private readonly memoryMb = 256,
  ) {}

  /** @throws JobStopped if the job exceeded a limit, and the job's own errors. */
  run<Name extends keyof J & string>(
    name: Name,
    ...given: Parameters<J[Name]>
  ): Promise<ReturnType<J[Name]>> {
    this.number = (this.number % 0x7fff_ffff) + 1;
    const job: Job = { number: this.number, name, given };
    const { promise, resolve, reject } = withResolvers();
    this.waiting.set(job.number, { job, resolve, reject });
    this.send(job);
    this.check();
    return promise as Promise<ReturnType<J[Name]>>;
  }

  /** Ends the thread. Waiting jobs run in a new one. */
  async end(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
    this.resend();
  }

  /** Sends all jobs of a turn in one message, because a message costs more than a short job. */
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
      // An error between jobs is not caused by a job. The thread itself cannot run.
      if (number > 0) return this.stop(number);
      this.worker = undefined;
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    });
    // After adding the listeners, because each would keep the process alive again.
    worker.unref();
    return worker;
  }

  /** Ends the thread because a job exceeded a limit. */
  private stop(number: number): void {
    const { worker } = this;
    this.worker = undefined;
    // Not awaited, because it may take a while.
    void worker?.terminate();
    this.waiting.get(number)?.reject(new JobStopped('The job used too much time or memory.'));
    this.waiting.delete(number);
    this.resend();
  }

  private resend(): void {
    this.unsent = [];
    for (const { job } of this.waiting.values()) this.send(job);
  }

  /**
   * Counts the CPU time that the process used while a job ran, which is at least what the job used. Measured in wall time, any job could take too long on a busy machine or in a process that was frozen.
   */
  private check(): void {
    clearTimeout(this.idle);
    if (this.checking) return;
    let [last, taken, usedBefore] = [0, 0, usedMs()];
    this.checking = setInterval(() => {
      if (this.waiting.size === 0) return this.rest();
      const number = Atomics.load(this.running, 0);
      const used = usedMs();
      taken = number > 0 && number === last ? taken + Math.min(used - usedBefore, CHECK_MS) : 0;
      [last, usedBefore] = [number, used];
      const name = this.waiting.get(number)?.job.name;
      if (name !== undefined && taken >= this.limitsMs[name]!) this.stop(number);
    }, CHECK_MS);
  }

  private rest(): void {
    clearInterval(this.checking);
    this.checking = undefined;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.end(), IDLE_MS).unref();
  }
}

/** The CPU time used by all threads of the process. */
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
