import { isUtf8 } from 'node:buffer';
import { nextTurn } from '#libs/work';

/** A record of a text that has one record per line: its text, or why its bytes cannot be read. */
export type Line = {
  /** The number of its first line, from 1. */
  line: number;
  bytes: number;
} & ({ text: string } | { problem: string; firstLine?: string });

/** 1 MiB. Limits the memory; a longer record is a broken one. */
const LONGEST = 1024 * 1024;

/**
 * Work per turn, about 3 ms, before others are served. The unit is one byte copied or searched. `CHUNK_COST` and
 * `RECORD_COST` are the measured cost of a chunk and a record, including what their readers do.
 */
const TURN = 128 * 1024;
const CHUNK_COST = 256;
const RECORD_COST = 2 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The smallest buffer: the rest of a line and the next chunk of a socket fit. */
const SMALLEST = 128 * 1024;

export const UNCLOSED =
  'has a quote that is not closed: quotes belong around a whole cell, and are doubled inside';

/**
 * Splits bytes into records at line breaks. With `quoted` (CSV), line breaks inside quotes do not count. An unclosed
 * quote costs only its own line: reading continues with the next.
 *
 * The work is linear in the number of bytes, whatever their contents and chunks. On average, each byte is copied at
 * most twice and searched at most three times. Only a line with an odd number of quotes opens a quote, and its end is
 * searched for only up to the next such line. So two such searches overlap by at most that line.
 */
export class Lines {
  /** Bytes copied and searched so far. */
  work = 0;
  private spent = 0;
  /** Has spare room after `held`, so that a byte that arrives on its own does not move all others. */
  private storage = Buffer.alloc(0);
  private held = this.storage;
  /** Offsets in `held`: the current record, its second line, and how far it has been read. */
  private start = 0;
  private secondLine: number | undefined;
  private read = 0;
  private isOpen = false;
  private isTooLong = false;
  /** Of the current record. */
  private line = 1;
  private newlines = 0;
  private before: { secondLine: number | undefined; line: number } | undefined;

  constructor(private readonly quoted: boolean) {}

  /** All records of the text, except blank lines. */
  async *of(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
    for await (const chunk of chunks) {
      this.hold(chunk);
      this.spent += CHUNK_COST;
      yield* this.take(false);
    }
    yield* this.take(true);
  }

  /**
   * The complete records in `held`. Reading them waits only between turns, so that others are served. A reader's work
   * between two records counts towards our turn.
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

  /** If the last record is broken, perhaps by a stray quote, reads again from its second line. */
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

  /** Moves the current record to the start of the buffer. At least as many bytes arrive before the next move. */
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

  /** Drops a line that is too long while it arrives, and reports it at its end. */
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
