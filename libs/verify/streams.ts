import { type Batch, ENDS_SUBJECT, ID_BYTES, UNREADABLE, writeId } from './batch.js';

/** 32-bit words of an id. */
const WORDS = ID_BYTES / 4;

/** Slots of the smallest table; the size is always a power of two. */
const SMALLEST = 1 << 16;

/**
 * Compares events of the same stream, or about the same subject.
 *
 * Memory: 40 to 80 bytes per stream, and the same per subject with unreadable data. While a table grows, half
 * as much again.
 */
export class Streams {
  /** By stream: its last time and last version, which is negative if the stream's own key was destroyed. */
  private readonly last = new ById();
  /** By subject: the first position with unreadable data. */
  private readonly unreadable = new ById();
  /** Streams whose own key was destroyed by an event that the checkpoint does not cover. */
  private readonly endedLate = new ById();

  /** Adds an event. @param isNewer than the checkpoint. @returns what is wrong with it, and what is suspicious. */
  add(batch: Batch, n: number, isNewer: boolean): { mistake?: string; warning?: string } {
    const [position, version, time] = [batch.positions[n]!, batch.versions[n]!, batch.times[n]!];
    const stream = wordsOf(batch.streams, n);
    const slot = this.last.find(stream);
    const before = this.last.number(slot);
    if (version !== Math.abs(before) + 1) {
      const found =
        before === 0 ? 'is the first of its stream' : `follows version ${Math.abs(before)} of its stream`;
      return { mistake: `The event at position ${position} has version ${version}, although it ${found}.` };
    }
    const wentBack = before !== 0 && time < this.last.value(slot);
    const hasEnded = before < 0 || (batch.marks[n]! & ENDS_SUBJECT) !== 0;
    this.last.set(slot, stream, hasEnded ? -version : version, time);
    if (isNewer && hasEnded && before >= 0)
      this.endedLate.set(this.endedLate.find(stream), stream, version, position);
    if ((batch.marks[n]! & UNREADABLE) !== 0) {
      const id = wordsOf(batch.subjects, n);
      const subject = this.unreadable.find(id);
      if (this.unreadable.number(subject) === 0) this.unreadable.set(subject, id, 1, position);
    }
    if (!wentBack) return {};
    return {
      warning: `The event at position ${position} was recorded before version ${version - 1} of its stream.`,
    };
  }

  /** The streams whose own key an event destroyed. */
  *ended(): Generator<string> {
    for (const { words, number } of this.last.entries()) if (number < 0) yield idOf(words);
  }

  /** Subjects with unreadable data although no event destroyed their key, with the first position of each. */
  *unexplained(): Generator<{ subjectId: string; position: number }> {
    for (const { words, value } of this.unreadable.entries()) {
      if (this.last.number(this.last.find(words)) >= 0) yield { subjectId: idOf(words), position: value };
    }
  }

  /** The first position with unreadable data of each subject whose key only a newer event destroyed. */
  *explainedLate(): Generator<number> {
    for (const { words, value } of this.unreadable.entries())
      if (this.endedLate.number(this.endedLate.find(words)) !== 0) yield value;
  }
}

const idOf = ({ buffer, byteOffset }: Uint32Array) => writeId(new Uint8Array(buffer, byteOffset, ID_BYTES));
const wordsOf = ({ buffer, byteOffset }: Uint8Array, n: number) =>
  new Uint32Array(buffer, byteOffset + n * ID_BYTES, WORDS);

/**
 * A hash table by UUID, of typed arrays with open addressing. A slot has 28 bytes, and at most 7 of 10 slots
 * are used.
 */
class ById {
  private slots = SMALLEST;
  private taken = 0;
  private ids = new Uint32Array(SMALLEST * WORDS);
  /** 0 if the slot is free. */
  private numbers = new Int32Array(SMALLEST);
  private values = new Float64Array(SMALLEST);
  /** Random, so that no one can choose ids that collide. */
  private readonly seed = crypto.getRandomValues(new Uint32Array(1))[0]!;

  /** @returns the slot of the id, or the free slot for it. */
  find(id: Uint32Array): number {
    const [a, b, c, d] = [id[0]!, id[1]!, id[2]!, id[3]!];
    let mixed = this.seed;
    for (const word of [a, b, c, d]) {
      mixed = Math.imul(mixed ^ word, 0x9e3779b1);
      mixed ^= mixed >>> 15;
    }
    const own = this.ids;
    for (let slot = mixed & (this.slots - 1); ; slot = (slot + 1) & (this.slots - 1)) {
      if (this.numbers[slot] === 0) return slot;
      const first = slot * WORDS;
      if (own[first] === a && own[first + 1] === b && own[first + 2] === c && own[first + 3] === d)
        return slot;
    }
  }

  /** 0 if the slot is free. */
  number(slot: number): number {
    return this.numbers[slot]!;
  }

  value(slot: number): number {
    return this.values[slot]!;
  }

  /** @param slot the result of `find` for the id. @param number not 0. */
  set(slot: number, id: Uint32Array, number: number, value: number): void {
    if (this.numbers[slot] === 0) {
      this.ids.set(id, slot * WORDS);
      this.taken += 1;
    }
    this.numbers[slot] = number;
    this.values[slot] = value;
    if (this.taken > this.slots * 0.7) this.grow();
  }

  *entries(): Generator<{ words: Uint32Array; number: number; value: number }> {
    for (let slot = 0; slot < this.slots; slot += 1) {
      if (this.numbers[slot] === 0) continue;
      const words = this.ids.subarray(slot * WORDS, (slot + 1) * WORDS);
      yield { words, number: this.numbers[slot]!, value: this.values[slot]! };
    }
  }

  private grow(): void {
    const { slots, ids, numbers, values } = this;
    this.slots = slots * 2;
    this.taken = 0;
    this.ids = new Uint32Array(this.slots * WORDS);
    this.numbers = new Int32Array(this.slots);
    this.values = new Float64Array(this.slots);
    for (let slot = 0; slot < slots; slot += 1) {
      if (numbers[slot] === 0) continue;
      const id = ids.subarray(slot * WORDS, (slot + 1) * WORDS);
      this.set(this.find(id), id, numbers[slot]!, values[slot]!);
    }
  }
}
