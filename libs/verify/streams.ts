import { type Event } from './export.js';
import { ALL } from './note.js';

/** The types of the events that destroy the key of the contact, API key, suppressed address, request or member of their stream. */
export const ENDINGS: ReadonlySet<string> = new Set([
  ...['ContactErased', 'ApiKeyRotated', 'ApiKeyRevoked', 'SuppressedAddressErased', 'SignatureConfirmed'],
  ...['SignatureExpired', 'SignUpConfirmed', 'SignUpExpired', 'InvitationRevoked', 'MemberRemoved'],
]);

/** A Map has at most 2^24 entries, and a large petition more streams. */
const MAPS = 256;

/** `unreadable`: the first position with unreadable data, or 0. `end`: whether the checkpoint covers the destruction of its key. */
type Stream = { version: number; time: number; unreadable: number; end: 'covered' | 'late' | null };

/** Compares events of the same stream, or about the same subject. */
export class Streams {
  private readonly maps = Array.from({ length: MAPS }, () => new Map<string, Stream>());

  /** Adds an event. @param isNewer than the checkpoint. @returns what is wrong with it, and what is suspicious. */
  add(event: Event, isNewer: boolean): { mistake?: string; warning?: string } {
    const { position, version, time } = event;
    const stream = this.streamOf(event.streamId);
    const { version: before, time: timeBefore } = stream;
    if (version !== before + 1) {
      const found = before === 0 ? 'is the first of its stream' : `follows version ${before} of its stream`;
      return { mistake: `The event at position ${position} has version ${version}, although it ${found}.` };
    }
    stream.version = version;
    stream.time = time;
    if (ENDINGS.has(event.type)) stream.end ??= isNewer ? 'late' : 'covered';
    if (event.personal === 'unreadable') this.streamOf(event.subjectId ?? ALL.id).unreadable ||= position;
    if (time >= timeBefore) return {};
    return {
      warning: `The event at position ${position} was recorded before version ${before} of its stream.`,
    };
  }

  /** The streams whose own key an event destroyed. */
  *ended(): Generator<string> {
    for (const map of this.maps) for (const [id, { end }] of map) if (end !== null) yield id;
  }

  /** The first unreadable position of each subject whose key no event destroyed, or only one after the checkpoint. */
  unexplained(): { subjectId: string; position: number; isLate: boolean }[] {
    const found = [];
    for (const map of this.maps)
      for (const [subjectId, { unreadable: position, end }] of map)
        if (position !== 0 && end !== 'covered') found.push({ subjectId, position, isLate: end === 'late' });
    return found.sort((one, other) => one.position - other.position);
  }

  private streamOf(id: string): Stream {
    const map = this.maps[Number.parseInt(id.slice(-2), 16)]!;
    const stream = map.get(id) ?? { version: 0, time: -Infinity, unreadable: 0, end: null };
    if (stream.version === 0) map.set(id, stream);
    return stream;
  }
}
