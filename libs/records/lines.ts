import { isUtf8 } from 'node:buffer';

/** One record of a text that has one a line: its text, or what is wrong with its bytes. */
export type Line = {
  /** The number of its first line, from 1. */
  line: number;
  bytes: number;
} & ({ text: string } | { problem: string });

/** 1 MiB: a longer record is a broken one, and what is held in memory has an end. */
const LONGEST = 1024 * 1024;

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export const UNCLOSED =
  'has a quote that is not closed: quotes belong around a whole cell, and are doubled inside';

/**
 * Cuts bytes into records: at every line's end, with `quoted` (CSV) only at those outside quotes. A quote that
 * is never closed costs its own line and no other: after it, reading goes on with the next line.
 */
export class Lines {
  private held: Buffer = Buffer.alloc(0);
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
      for (let next = this.next(false); next; next = this.next(false)) if (!isBlank(next)) yield next;
    }
    for (let next = this.next(true); next; next = this.next(true)) if (!isBlank(next)) yield next;
  }

  /** The record last given out is broken, perhaps by a quote too many: gives its second line and all after it anew. */
  rereadFromSecondLine(): void {
    const { secondLine = this.start, line } = this.before!;
    if (secondLine < this.start) this.beginAt(secondLine, line + 1);
  }

  private hold(chunk: Uint8Array): void {
    const rest = this.held.subarray(this.start);
    this.held =
      rest.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([rest, chunk]);
    this.read -= this.start;
    if (this.secondLine !== undefined) this.secondLine -= this.start;
    this.start = 0;
  }

  private next(isEnd: boolean): Line | undefined {
    while (this.read < this.held.length) {
      const newline = this.held.indexOf(NEWLINE, this.read);
      const end = newline === -1 ? this.held.length : newline;
      if (this.quoted && hasOddQuotes(this.held, this.read, end)) this.isOpen = !this.isOpen;
      this.read = newline === -1 ? end : end + 1;
      if (newline !== -1) {
        this.newlines += 1;
        if (this.newlines === 1) this.secondLine = this.read;
      }
      if (this.isTooLong || end - this.start > LONGEST) {
        const tooLong = this.passOver(end, newline !== -1);
        if (tooLong) return tooLong;
      } else if (newline !== -1 && !this.isOpen) {
        return this.take(end);
      }
    }
    if (!isEnd) return undefined;
    if (this.isTooLong) return this.passOver(this.held.length, true);
    if (this.start === this.held.length) return undefined;
    return this.isOpen ? this.giveUpQuote() : this.take(this.held.length);
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
    this.beginAt(secondLine, line + 1);
    return { line, bytes, problem: UNCLOSED };
  }

  private take(end: number): Line {
    const { line, start, secondLine, newlines } = this;
    this.before = { line, secondLine };
    this.beginAt(this.read, line + Math.max(newlines, 1));
    let bytes = this.held.subarray(start, end);
    if (line === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) bytes = bytes.subarray(3);
    if (bytes.at(-1) === 0x0d) bytes = bytes.subarray(0, -1);
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
