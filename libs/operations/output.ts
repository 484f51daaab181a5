import { fstatSync, write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, readableLine } from '#libs/terminal';

const STDOUT = 1;

/** How long lines are collected into one write: about 50 lines at 2,500 requests per second. */
const BATCH_MS = 20;
/** The number of characters that may wait for a reader, about 4,000 lines. Further lines are dropped and counted. */
const MOST_WAITING = 1024 * 1024;
/** POSIX: writes of up to this many bytes to a pipe are atomic (PIPE_BUF on Linux). */
const UNDIVIDED = 4_096;
/** The pause after a failed write, because the reader has ended or the disk is full. */
const RETRY_MS = 1_000;
/** Between two checks whether the output is quiet. */
const POLL_MS = 50;

/** `isTorn`: a part was written before the failure. */
type Send = (text: string, done: (error: Error | null, isTorn: boolean) => void) => void;

/**
 * Standard output for a server. Writing is cheap, never waits and never fails, even if nothing reads the output. Lines are
 * written in order and in batches. If the buffer is full, lines are dropped, and a line in their place contains their number.
 */
class StandardOutput {
  private waiting: string[] = [];
  /** In characters, including the batch being written. */
  private size = 0;
  private dropped = 0;
  /** The number of lines dropped since the start. */
  droppedInAll = 0;
  private isTorn = false;
  private isWriting = false;
  private timer: NodeJS.Timeout | undefined;
  private awaiting: (() => void)[] = [];
  private send: Send | undefined;
  private isShared = false;
  private writtenAt = 0;

  /** Call this if other processes write to the same output. From then on, lines are never interleaved. */
  share(): void {
    this.isShared = true;
  }

  /** @param text complete lines, which are written some milliseconds later. */
  write(text: string): void {
    if (this.size + text.length > MOST_WAITING) {
      this.dropped += 1;
      this.droppedInAll += 1;
      return;
    }
    this.waiting.push(text);
    this.writtenAt = performance.now();
    this.size += text.length;
    if (!this.isWriting) this.timer ??= setTimeout(() => this.writeBatch(), BATCH_MS);
  }

  /** Resolves when nothing has been written for `quietMs`, at the latest after `longestMs`. */
  async quiet(quietMs: number, longestMs: number): Promise<void> {
    const endAt = performance.now() + longestMs;
    while (performance.now() < Math.min(this.writtenAt + quietMs, endAt)) await sleep(POLL_MS);
  }

  /** Resolves when everything is written or has failed, but after `longestMs` at the latest, so that an exit never waits for a reader. */
  async flush(longestMs: number): Promise<void> {
    const flushed = new Promise<void>((resolve) => this.awaiting.push(resolve));
    const late = setTimeout(() => this.settle(), longestMs);
    if (!this.isWriting) this.writeBatch();
    await flushed;
    clearTimeout(late);
  }

  private writeBatch(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { dropped } = this;
    const waiting = this.takeLines();
    if (waiting.length === 0 && dropped === 0) {
      this.settle();
      return;
    }
    const size = waiting.reduce((sum, { length }) => sum + length, 0);
    const batch = waiting.join('') + (dropped > 0 ? describeDropped(dropped) : '');
    this.dropped = 0;
    this.isWriting = true;
    this.send ??= sender();
    // Starts on a new line after a partly written one.
    this.send(this.isTorn ? `\n${batch}` : batch, (error, isTorn) => {
      this.isWriting = false;
      this.size -= size;
      this.isTorn = error !== null && (isTorn || this.isTorn);
      if (!error) {
        this.writeBatch();
        return;
      }
      this.dropped += dropped + waiting.length;
      this.droppedInAll += waiting.length;
      this.timer = setTimeout(() => this.writeBatch(), RETRY_MS);
      this.settle();
    });
  }

  private takeLines(): string[] {
    let count = this.waiting.length;
    if (this.isShared) {
      count = 0;
      for (let bytes = 0; count < this.waiting.length; count += 1) {
        bytes += Buffer.byteLength(this.waiting[count]!);
        if (count > 0 && bytes > UNDIVIDED) break;
      }
    }
    return this.waiting.splice(0, count);
  }

  private settle(): void {
    for (const resolve of this.awaiting.splice(0)) resolve();
  }
}

/** The only one of the process. */
export const standardOutput = new StandardOutput();

function describeDropped(dropped: number): string {
  const time = new Date().toISOString();
  const line = JSON.stringify({
    level: 'warn',
    time,
    pid: process.pid,
    message: 'log lines dropped',
    dropped,
  });
  return isTerminal ? readableLine(line) : `${line}\n`;
}

function sender(): Send {
  const stats = fstatSync(STDOUT);
  return stats.isFIFO() || stats.isSocket() ? pipeSender() : writeToFile;
}

/**
 * process.stdout waits for the reader of a pipe without blocking. A write in a thread, as to a file, would block it,
 * and Node.js joins its threads before it exits.
 */
function pipeSender(): Send {
  // The callback gets the error too, but without a listener it would be an uncaught exception.
  process.stdout.on('error', () => undefined);
  return (text, done) => {
    process.stdout.write(text, (error) => done(error ?? null, false));
  };
}

/** process.stdout would block our only thread while writing to a file or to a paused terminal. */
function writeToFile(text: string, done: Parameters<Send>[1]): void {
  const bytes = Buffer.from(text);
  const writeFrom = (at: number) =>
    write(STDOUT, bytes, at, bytes.length - at, null, (error, written) => {
      const next = at + written;
      if (error?.code === 'EAGAIN') setTimeout(() => writeFrom(at), BATCH_MS);
      else if (error || next === bytes.length) done(error, at > 0);
      else writeFrom(next);
    });
  writeFrom(0);
}
