import { type ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { isTerminal, readableLine } from '#libs/terminal';
import { loadEnvironment, PROCESS_NUMBER } from '../environment/index.js';

/** A process that exits sooner will probably exit again, so its replacement waits. */
const SHORT_LIFE_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

const STOPPING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
type End = { status: number | null; signal: string | null };

/**
 * Runs this many server processes on one port, replaces those that exit, passes signals on to them, and exits after the last. Each
 * is an instance like any other. This process only hands out connections.
 *
 * The first process starts before the others. It prepares the database for all, and an error at the start is logged only once.
 *
 * @param program the file that each process runs.
 */
export function lead(processes: number, program: string): void {
  const running = new Map<number, ReturnType<typeof cluster.fork>>();
  const pauses = new Map<number, number>();
  let hasBegun = false;
  let isStopping = false;
  let status = 0;

  cluster.setupPrimary({ exec: program, args: [] });
  // The reader of our output may exit before we do.
  process.stdout.on('error', () => undefined);
  for (const signal of STOPPING) {
    process.on(signal, () => {
      isStopping = true;
      for (const worker of running.values()) worker.process.kill(signal);
      if (running.size === 0) process.exit(status);
    });
  }
  start(1);

  function start(number: number): void {
    const worker = cluster.fork({ [PROCESS_NUMBER]: String(number) });
    const startedAt = performance.now();
    running.set(number, worker);
    const closeHandedOver = trackHandovers(worker.process);
    const ended = (code: number | null, signal: string | null): void => {
      running.delete(number);
      closeHandedOver();
      const end = { status: code, signal };
      if (hasBegun && !isStopping) replace(number, end, performance.now() - startedAt);
      else finish(end);
    };
    worker.once('listening', begin);
    worker.once('exit', ended);
    // Without a listener, an error would end this process. A process that could not be created has no id and does not emit exit.
    worker.on('error', () => worker.process.pid === undefined && ended(null, null));
  }

  function begin(): void {
    if (hasBegun || isStopping) return;
    hasBegun = true;
    for (let number = 2; number <= processes; number += 1) start(number);
    log('info', { message: 'several processes share one port', processes });
  }

  function replace(number: number, end: End, livedMs: number): void {
    const before = livedMs < SHORT_LIFE_MS ? pauses.get(number) : undefined;
    const afterShortLife = before === undefined ? FIRST_PAUSE_MS : Math.min(2 * before, MAX_PAUSE_MS);
    const pauseMs = livedMs < SHORT_LIFE_MS ? afterShortLife : 0;
    pauses.set(number, pauseMs);
    log('warn', {
      message: 'a process exited: a new one replaces it, the others keep serving',
      process: number,
      ...end,
      livedForSeconds: Math.round(livedMs / 1_000),
      nextInSeconds: pauseMs / 1_000,
    });
    setTimeout(() => isStopping || start(number), pauseMs);
  }

  function finish(end: End): void {
    // A signal kills a process that does not handle signals yet.
    const isStopped = isStopping && STOPPING.includes(end.signal as NodeJS.Signals);
    if (end.status !== 0 && !isStopped) status = end.status ?? 1;
    if (running.size === 0) process.exit(status);
  }
}

/**
 * Returns a function that closes the last connection that was handed to a process. Node.js closes its own copy when the process
 * confirms that it has received the connection. If the process were killed before that, the client would wait forever.
 */
function trackHandovers(child: ChildProcess): () => void {
  let last: { close(): void } | undefined;
  const send = Reflect.get(child, 'send') as (...given: unknown[]) => boolean;
  child.send = (...given: unknown[]) => {
    const [, connection] = given;
    if (connection !== undefined) last = connection as typeof last;
    return Reflect.apply(send, child, given);
  };
  return () => last?.close();
}

/** Logs in the format of `JsonLogger`, which would load most of the server. */
function log(level: 'info' | 'warn', fields: { message: string; [field: string]: unknown }): void {
  const levels = ['debug', 'info', 'warn'];
  const { LOG_LEVEL = 'info' } = loadEnvironment();
  const lowest = LOG_LEVEL.trim() === '' ? 'info' : LOG_LEVEL.trim();
  if (levels.includes(lowest) && levels.indexOf(level) >= levels.indexOf(lowest)) {
    const line = JSON.stringify({ level, time: new Date().toISOString(), pid: process.pid, ...fields });
    process.stdout.write(isTerminal ? readableLine(line) : `${line}\n`);
  }
}
