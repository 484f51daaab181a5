import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One record of a text that has one a line: its text, or what is wrong with its bytes. */
export type Line = {
  /** The number of its first line, from 1. */
  line: number;
  bytes: number;
} & ({ text: string } | { problem: string; firstLine?: string });

/** 1 MiB: a longer record is a broken one, and what is held in memory has an end. */
const LONGEST = 1024 * 1024;

/**
 * What is spent before everybody else gets a turn: about 3 ms. Its unit is a byte copied or searched; a chunk and a
 * record, with what their readers make of them, were measured to cost as much as so many.
 */
const TURN = 128 * 1024;
const CHUNK_COST = 256;
const RECORD_COST = 2 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Room for the end of a line and the next chunk of a socket. */
const SMALLEST = 128 * 1024;

export const UNCLOSED =
  'has a quote that is not closed: quotes belong around a whole cell, and are doubled inside';

/**
 * Cuts bytes into records: at every line's end, with `quoted` (CSV) only at those outside quotes. A quote that
 * is never closed costs its own line and no other: after it, reading goes on with the next line.
 *
 * The work is linear in the bytes, however they are cut and whatever they hold: each is copied twice at most on
 * average, and searched three times at most. Only a line with an odd number of quotes leaves one open, and it is
 * looked for its end up to the next such line, so that no two of these searches overlap in more than that line.
 */
export class Lines {
  /** Bytes copied and searched so far. */
  work = 0;
  private spent = 0;
  /** Has room behind what is held: bytes that come one by one must not each move all others. */
  private storage = Buffer.alloc(0);
  private held = this.storage;
  /** In `held`: where the record under way begins, where its second line does, and how far it is read. */
  private start = 0;
  private secondLine: number | undefined;
  private read = 0;
  private isOpen = false;
  private isTooLong = false;
  /** Of the record under way. */
  private line = 1;
  private newlines = 0;
  private before: { secondLine: number | undefined; line: number } | undefined;

  constructor(private readonly quoted: boolean) {}

  /** All records of the text, blank lines left out. */
  async *of(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
    for await (const chunk of chunks) {
      this.hold(chunk);
      this.spent += CHUNK_COST;
      yield* this.take(false);
    }
    yield* this.take(true);
  }

  /**
   * The records that are held whole. Bytes that are there already are read without any waiting: only the turns
   * given away let others be served meanwhile. What a reader does between two records is part of ours.
   */
  private async *take(isEnd: boolean): AsyncGenerator<Line> {
    for (;;) {
      const before = this.work;
      const next = this.next(isEnd);
      this.spent += this.work - before;
      if (this.spent >= TURN) {
        this.spent = 0;
        await nextTurn();
      }
      if (!next) return;
      this.spent += RECORD_COST;
      if (!isBlank(next)) yield next;
    }
  }

  /** The record last given out is broken, perhaps by a quote too many: gives its second line and all after it anew. */
  rereadFromSecondLine(): void {
    const { secondLine = this.start, line } = this.before!;
    if (secondLine < this.start) this.beginAt(secondLine, line + 1);
  }

  private hold(chunk: Uint8Array): void {
    if (this.held.length + chunk.length > this.storage.length) this.makeRoom(chunk.length);
    const { length } = this.held;
    this.storage.set(chunk, length);
    this.held = this.storage.subarray(0, length + chunk.length);
    this.work += chunk.length;
  }

  /** Moves the record under way to the beginning: at least as many bytes come before this happens again. */
  private makeRoom(bytes: number): void {
    const { held, start } = this;
    const needed = held.length - start + bytes;
    if (2 * needed > this.storage.length) {
      this.storage = Buffer.allocUnsafeSlow(Math.max(2 * needed, SMALLEST));
    }
    held.copy(this.storage, 0, start);
    this.held = this.storage.subarray(0, held.length - start);
    this.work += this.held.length;
    this.read -= start;
    if (this.secondLine !== undefined) this.secondLine -= start;
    this.start = 0;
  }

  private next(isEnd: boolean): Line | undefined {
    while (this.read < this.held.length) {
      const newline = this.held.indexOf(NEWLINE, this.read);
      const end = newline === -1 ? this.held.length : newline;
      if (this.quoted && hasOddQuotes(this.held, this.read, end)) this.isOpen = !this.isOpen;
      this.work += end - this.read;
      this.read = newline === -1 ? end : end + 1;
      if (newline !== -1) {
        this.newlines += 1;
        if (this.newlines === 1) this.secondLine = this.read;
      }
      if (this.isTooLong || end - this.start > LONGEST) {
        const tooLong = this.passOver(end, newline !== -1);
        if (tooLong) return tooLong;
      } else if (newline !== -1 && !this.isOpen) {
        return this.cut(end);
      }
    }
    if (!isEnd) return undefined;
    if (this.isTooLong) return this.passOver(this.held.length, true);
    if (this.start === this.held.length) return undefined;
    return this.isOpen ? this.giveUpQuote() : this.cut(this.held.length);
  }

  /** A line too long is dropped as it comes, and told when its end has come. */
  private passOver(end: number, isWhole: boolean): Line | undefined {
    if (this.newlines > 1 || (this.newlines === 1 && !isWhole)) return this.giveUpQuote();
    if (!isWhole) {
      this.isTooLong = true;
      this.start = end;
      return undefined;
    }
    const { line } = this;
    this.beginAt(this.read, line + 1);
    return { line, bytes: LONGEST, problem: 'is longer than 1 MiB' };
  }

  private giveUpQuote(): Line {
    const { line, secondLine = this.held.length } = this;
    const bytes = secondLine - this.start;
    let first = this.held.subarray(this.start, secondLine);
    while (first.at(-1) === NEWLINE || first.at(-1) === RETURN) first = first.subarray(0, -1);
    const firstLine = isUtf8(first) ? first.toString('utf8') : undefined;
    this.beginAt(secondLine, line + 1);
    return { line, bytes, problem: UNCLOSED, ...(firstLine !== undefined && { firstLine }) };
  }

  private cut(end: number): Line {
    const { line, start, secondLine, newlines } = this;
    this.before = { line, secondLine };
    this.beginAt(this.read, line + Math.max(newlines, 1));
    let bytes = this.held.subarray(start, end);
    if (line === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) bytes = bytes.subarray(3);
    if (bytes.at(-1) === RETURN) bytes = bytes.subarray(0, -1);
    if (!isUtf8(bytes)) return { line, bytes: bytes.length, problem: 'is not valid UTF-8' };
    return { line, bytes: bytes.length, text: bytes.toString('utf8') };
  }

  private beginAt(start: number, line: number): void {
    this.start = start;
    this.read = start;
    this.line = line;
    this.secondLine = undefined;
    this.newlines = 0;
    this.isOpen = false;
    this.isTooLong = false;
  }
}

function isBlank(line: Line): boolean {
  return 'text' in line && line.text.trim() === '';
}

function hasOddQuotes(bytes: Buffer, from: number, to: number): boolean {
  let odd = false;
  for (let at = from; at < to; at += 1) if (bytes[at] === QUOTE) odd = !odd;
  return odd;
}
