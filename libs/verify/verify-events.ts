import { type Checkpoint } from './checkpoint.js';
import { type Batch, type Event } from './export.js';
import { ALL, type Code } from './note.js';
import { areSame } from './platform.js';
import { type RegisteredHistory } from './register.js';
import { leafHash, Tree } from './tree.js';
import { againstOf, MOST_WARNINGS, unproved, type Verdict } from './verdict.js';

/** What the events do not contain. The subjects are only known in the database. */
type Beside = {
  register?: RegisteredHistory | undefined;
  /** Returns those of these subjects whose keys an event after the ones read here destroyed. */
  endedLater?: (subjectIds: Iterable<string>) => Promise<ReadonlySet<string>>;
  /** Returns the first of these subjects, whose keys an event destroyed, that has a key again. */
  firstWithKey?: (subjectIds: Iterable<string>) => Promise<string | undefined>;
  onProgress?: ((events: number) => void) | undefined;
};

/** How far times can go back: those of requests that run at the same moment differ by seconds. */
const TOLERANCE_MS = 60_000;

/** Compares events with a checkpoint. If none contradicts itself or another, its parts show between which positions they differ. */
export async function verifyEvents(
  checkpoint: Checkpoint,
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  { register, endedLater, firstWithKey, onProgress }: Beside = {},
): Promise<Verdict> {
  const { size, root } = checkpoint;
  const [tree, streams, parts] = [new Tree(), new Streams(), [...checkpoint.parts]];
  const against = againstOf(checkpoint);
  const found: Verdict = { ...unproved(null, null), ok: true, checkpoint: against };
  const sealedAt = Date.parse(checkpoint.sealedAt);
  /** The latest time and the last position of the events read, and the first position that no part of the checkpoint proves. */
  let [latest, last, unprovedFrom] = [-Infinity, 0, 1];
  /** Where the proved parts end, and the size of the tree with the next one. */
  let begun = 'the beginning';
  let endOfPart = parts[0]?.leaves;

  const wrong = (at: number | null, code: Code, reason: string): Verdict => ({
    ...found,
    ok: false,
    firstWrongPosition: at,
    code,
    reason,
  });
  const warn = (position: number, reason: string): void => {
    found.warningCount += 1;
    if (found.warnings.length < MOST_WARNINGS) found.warnings.push({ position, reason });
  };
  const rest = () => `between ${begun} and position ${checkpoint.position}, the checkpoint’s`;
  const missing = (): Verdict => {
    const count = missingOf(checkpoint, tree.size);
    // If nothing is between the last event and the checkpoint's position, an earlier event is missing.
    if (last >= checkpoint.position) return wrong(unprovedFrom, 'missing', `${count}, ${rest()}.`);
    const newest = `the newest, after position ${last}`;
    const others = tree.size === found.provedEvents ? '' : `, or others ${rest()}`;
    return wrong(last + 1, 'missing', `${count}: ${newest}${others}.`);
  };

  if (size === 0 && !areSame(root, tree.root()))
    return wrong(null, 'root', 'The checkpoint covers no events, but its root is wrong.');
  for await (const { events, mistake: next } of batches) {
    onProgress?.(found.events + events.length);
    for (const event of events) {
      found.events += 1;
      const { position, time } = event;
      const isNewer = tree.size >= size;
      if (!isNewer && position > checkpoint.position) return missing();
      if (isNewer && position <= checkpoint.position) return wrong(position, 'late', insertedAt(position));
      if (isNewer) found.newerEvents += 1;
      const { mistake, warning } = streams.add(event, isNewer);
      if (mistake !== undefined) return wrong(position, 'version', mistake);
      const recorded = () => `The event at position ${position} was recorded more than a minute`;
      if (warning !== undefined) warn(position, warning);
      else if (time < latest - TOLERANCE_MS)
        warn(position, `${recorded()} before an event with a lower position.`);
      else if (!isNewer && time > sealedAt + TOLERANCE_MS)
        warn(position, `${recorded()} after the checkpoint that contains it was sealed.`);
      if (event.personal === 'unproved') found.unprovedPersonal += 1;
      tree.append(leafHash(position, event.digest));
      register?.compare(tree);
      [latest, last] = [Math.max(latest, time), position];
      if (isNewer) continue;

      if (tree.size - 1 === found.provedEvents) unprovedFrom = position;
      if (tree.size === endOfPart) {
        const { firstPosition, lastPosition, leaves, hash } = parts.shift()!;
        if (!areSame(tree.completed[Math.log2(leaves)]!, hash)) {
          const between = `between positions ${firstPosition} and ${lastPosition}`;
          const reason = `The history differs from the checkpoint ${between}, although every event there matches its digest.`;
          return wrong(firstPosition, 'root', reason);
        }
        found.provedEvents = tree.size;
        begun = `position ${lastPosition}`;
        endOfPart += parts[0]?.leaves ?? Infinity;
      }
      if (tree.size < size) continue;
      if (!areSame(tree.root(), root)) {
        const inconsistent = 'The checkpoint is inconsistent: its root does not follow from its parts.';
        if (found.provedEvents === size) return wrong(null, 'root', inconsistent);
        const reason = `The history differs from the checkpoint ${rest()}, although every event matches its digest.`;
        const without = ' Without the parts of the checkpoint, it cannot be located more exactly.';
        return wrong(unprovedFrom, 'root', checkpoint.parts.length === 0 ? reason + without : reason);
      }
      found.provedEvents = size;
    }
    if (!next) continue;
    found.events += 1;
    if (tree.size < size && next.position > checkpoint.position) return missing();
    return wrong(next.position, next.code, next.reason);
  }
  if (tree.size < size) return missing();

  const unexplained = streams.unexplained();
  const ended = await endedLater?.(unexplained.filter((one) => !one.isLate).map((one) => one.subjectId));
  const unread = unexplained.find(({ isLate, subjectId }) => !isLate && !ended?.has(subjectId));
  if (unread) {
    const reason = `Every event matches its digest, but the personal data at position ${unread.position} cannot be read, although no event erased it.`;
    const how = `Someone destroyed or changed its key${firstWithKey ? '' : ', or the file was edited'}.`;
    return wrong(unread.position, 'unreadable', `${reason} ${how}`);
  }
  for (const { position } of unexplained) {
    // Events that are newer themselves are unproved anyway.
    if (position > checkpoint.position) break;
    const reason = `The personal data at position ${position} cannot be read. The event that explains this is newer than the checkpoint, so it is not proved.`;
    warn(position, reason);
  }
  const revived = await firstWithKey?.(streams.ended());
  if (revived !== undefined) {
    const back = `the encryption key of ${revived} is back in the table subject_keys, although an event destroyed it`;
    const advice = 'The personal data can be read again. Delete this row, and find out who restored it.';
    return wrong(null, 'revived', `Every event matches its digest, but ${back}. ${advice}`);
  }
  const mistake = register?.judge(size);
  if (register) against.register = register.found;
  return mistake === undefined ? found : wrong(null, 'register', mistake);
}

export const missingOf = ({ size }: Pick<Checkpoint, 'size'>, found: number) =>
  `${size - found} of the ${size} events of the checkpoint ${size - found === 1 ? 'is' : 'are'} missing`;
export const insertedAt = (position: number) =>
  `The event at position ${position} was inserted after the checkpoint, although its position is before it.`;

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
class Streams {
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
