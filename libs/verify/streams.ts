import { type Event } from './export.js';
import { ALL } from './note.js';

/** The types of the events that destroy the key of the contact, API key, suppressed address, request or member of their stream. */
export const ENDINGS: ReadonlySet<string> = new Set([
  ...['ContactErased', 'ApiKeyRotated', 'ApiKeyRevoked', 'SuppressedAddressErased', 'SignatureConfirmed'],
  ...['SignatureExpired', 'SignUpConfirmed', 'SignUpExpired', 'InvitationRevoked', 'MemberRemoved'],
]);

/** A Map has at most 2^24 entries, and a large petition more streams. */
const MAPS = 256;

/** An event destroyed the key of a stream. `LATE`: the checkpoint does not cover it. */
const [ENDED, LATE] = [1, 2];

/** Compares events of the same stream, or about the same subject, which is a stream, too. */
export class Streams {
  /** The number of each id. */
  private readonly numbers = Array.from({ length: MAPS }, () => new Map<string, number>());
  /** By number: the stream's last version and time. */
  private readonly versions: number[] = [];
  private readonly times: number[] = [];
  /** The first position with unreadable data of this subject; 0 if there is none. */
  private readonly unreadable: number[] = [];
  /** `ENDED` or `LATE`, or 0. */
  private readonly ends: number[] = [];

  /** Adds an event. @param isNewer than the checkpoint. @returns what is wrong with it, and what is suspicious. */
  add(event: Event, isNewer: boolean): { mistake?: string; warning?: string } {
    const { position, version, time, streamId, subjectId } = event;
    const stream = this.numberOf(streamId);
    const before = this.versions[stream]!;
    if (version !== before + 1) {
      const found = before === 0 ? 'is the first of its stream' : `follows version ${before} of its stream`;
      return { mistake: `The event at position ${position} has version ${version}, although it ${found}.` };
    }
    const wentBack = before !== 0 && time < this.times[stream]!;
    this.versions[stream] = version;
    this.times[stream] = time;
    if (ENDINGS.has(event.type)) this.ends[stream] ||= isNewer ? LATE : ENDED;
    if (event.personal === 'unreadable') this.unreadable[this.numberOf(subjectId ?? ALL.id)] ||= position;
    const warning = `The event at position ${position} was recorded before version ${version - 1} of its stream.`;
    return wentBack ? { warning } : {};
  }

  /** The streams whose own key an event destroyed. */
  *ended(): Generator<string> {
    for (const map of this.numbers) for (const [id, number] of map) if (this.ends[number] !== 0) yield id;
  }

  /**
   * Subjects with unreadable data whose key no event destroyed, or `isLate`: only one that the checkpoint does not cover. With the
   * first such position of each, in the order of these.
   */
  unexplained(): { subjectId: string; position: number; isLate: boolean }[] {
    const found = [];
    for (const map of this.numbers) {
      for (const [subjectId, number] of map) {
        const [position, end] = [this.unreadable[number]!, this.ends[number]];
        if (position !== 0 && end !== ENDED) found.push({ subjectId, position, isLate: end === LATE });
      }
    }
    return found.sort((one, other) => one.position - other.position);
  }

  private numberOf(id: string): number {
    // The last digits of an id are random in every version.
    const map = this.numbers[Number.parseInt(id.slice(-2), 16)]!;
    const known = map.get(id);
    if (known !== undefined) return known;
    map.set(id, this.versions.length);
    for (const column of [this.times, this.unreadable, this.ends]) column.push(0);
    return this.versions.push(0) - 1;
  }
}
