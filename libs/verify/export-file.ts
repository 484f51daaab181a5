import { type Batch, type Mistake, newBatch } from './batch.js';
import { joined } from './platform.js';
import { type CheckedLines, LONGEST_LINE, TOO_LONG, type WrongLine } from './lines.js';

/** Checks complete lines one by one, here or in another thread. */
export type CheckLines = (lines: Uint8Array) => CheckedLines | Promise<CheckedLines>;

/**
 * The events of an export in the file's order. Each is checked on its own and against the line before.
 *
 * @param ahead chunks of the file in progress at the same time.
 */
export async function* eventsOfExport(
  chunks: AsyncIterable<Uint8Array>,
  check: CheckLines,
  ahead: number,
): AsyncGenerator<Batch> {
  const chain = new Chain();
  const underWay: (CheckedLines | Promise<CheckedLines>)[] = [];
  for await (const lines of wholeLines(chunks)) {
    underWay.push(
      typeof lines === 'string'
        ? { ...newBatch(0), wrong: { code: 'line' as const, what: lines } }
        : check(lines),
    );
    if (underWay.length >= ahead) yield chain.take(await underWay.shift()!);
  }
  for (const checked of underWay) yield chain.take(await checked);
}

/** Chunks of complete lines, followed by what is wrong with the rest, if anything. */
export async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array | string> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(10) + 1;
    if (end > 0) {
      const lines = chunk.subarray(0, end);
      yield length === 0 ? lines : joined(...begun, lines);
      begun = [];
      length = 0;
    }
    if (end < chunk.length) begun.push(chunk.subarray(end));
    length += chunk.length - end;
    if (length > LONGEST_LINE) {
      yield TOO_LONG;
      return;
    }
  }
  if (length > 0) yield 'does not end with a line feed. The file is truncated';
}

/** Checks that each line follows the one before. */
class Chain {
  private line = 0;
  private position = 0;
  private previousPosition = -1;

  /** The events of a chunk, up to the first invalid line. */
  take(checked: CheckedLines): Batch {
    const { count, positions, previous, wrong } = checked;
    for (let n = 0; n < count; n += 1) {
      const mistake = this.follow(positions[n]!, previous[n]!);
      if (mistake) return { ...checked, count: n, mistake };
    }
    return { ...checked, mistake: wrong && this.mistakeOf(wrong) };
  }

  private mistakeOf(wrong: WrongLine): Mistake {
    const { position, previousPosition, code, what } = wrong;
    if (position === undefined || previousPosition === undefined) {
      // An event is missing after the previous one.
      return { position: this.position + 1, code, reason: `Line ${this.line + 1} ${what}.` };
    }
    const mistake = this.follow(position, previousPosition);
    return mistake ?? { position, code, reason: `Line ${this.line} (position ${position}) ${what}.` };
  }

  /** Expects this line to follow the previous one. @returns the mistake if it does not. */
  private follow(position: number, previousPosition: number): Mistake | undefined {
    this.line += 1;
    if (previousPosition !== this.position) {
      const names =
        previousPosition === 0
          ? 'claims to be the first event'
          : `names ${previousPosition} as the previous position`;
      const found =
        this.position === 0 ? 'no line precedes it' : `the previous line has position ${this.position}`;
      // If the previous line names an earlier one, the event between them is missing. Otherwise, the previous line
      // was inserted.
      const isMissing = previousPosition > this.previousPosition;
      return {
        position: isMissing ? previousPosition : this.position,
        code: 'order',
        reason: `Line ${this.line} (position ${position}) ${names}, but ${found}.`,
      };
    }
    if (position <= this.position) {
      const reason = `Line ${this.line} has position ${position}, although it follows ${this.position}.`;
      return { position: this.position + 1, code: 'order', reason };
    }
    this.position = position;
    this.previousPosition = previousPosition;
    return undefined;
  }
}
