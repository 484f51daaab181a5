import { fstatSync, write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, readableLine } from '#libs/terminal';

const STDOUT = 1;

/** How long lines are collected into one write: some 50 of them at 2,500 requests a second. */
const BATCH_MS = 20;
/** Characters that may wait for a reader: some 4,000 lines. Lines beyond them are dropped, and counted. */
const MOST_WAITING = 1024 * 1024;
/** POSIX: what others write to the same pipe never gets into the middle of so many bytes (PIPE_BUF on Linux). */
const UNDIVIDED = 4_096;
/** After a write that failed, because the reader is gone or the disk is full. */
const RETRY_MS = 1_000;
/** Between two checks whether the output is quiet. */
const POLL_MS = 50;

/** `isTorn`: a part was written before it failed. */
type Send = (text: string, done: (error: Error | null, isTorn: boolean) => void) => void;

/**
 * Standard output for a server: writing costs nothing worth mentioning, never waits and never fails, whether
 * somebody reads or not. Lines come out in order and in batches. Those that find no room are missing, and a line
 * behind the place tells how many.
 */
class StandardOutput {
  private waiting: string[] = [];
  /** In characters, with what is being written. */
  private size = 0;
  private dropped = 0;
  /** Of all lines so far that were written, how many are missing. */
  droppedInAll = 0;
  private isTorn = false;
  private isWriting = false;
  private timer: NodeJS.Timeout | undefined;
  private awaiting: (() => void)[] = [];
  private send: Send | undefined;
  private isShared = false;
  private writtenAt = 0;

  /** Other processes write to it, too: from now on lines are written such that none gets into another. */
  share(): void {
    this.isShared = true;
  }

  /** @param text whole lines; they are out some milliseconds later. */
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

  /** Resolves when everything is out, or cannot be, or after so many milliseconds: no exit waits for a reader. */
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
    // The line that was torn must not take this one with it.
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

/** The process has only one. */
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
  // Told to the callback too; without a listener it would be an uncaught exception.
  process.stdout.on('error', () => undefined);
  return (text, done) => {
    process.stdout.write(text, (error) => done(error ?? null, false));
  };
}

/** process.stdout would write to a file, and to a terminal that somebody has stopped, on our only thread. */
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
