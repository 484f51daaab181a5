import { type Batch, UNPROVED } from './batch.js';
import { type Checkpoint } from './checkpoint.js';
import { type Code } from './note.js';
import { areSame, HASH } from './platform.js';
import { type RegisteredHistory } from './register.js';
import { Streams } from './streams.js';
import { Tree } from './tree.js';
import { againstOf, MOST_WARNINGS, type Verdict } from './verdict.js';

/** A leaf as it was sealed. */
export type SealedLeaf = { position: number; hash: Uint8Array };

/** The seals as stored in the database. */
export type Seals = {
  /**
   * Reads `count` leaves of the checkpoint starting at number `from`, counted from 0. `from` ascends from call to
   * call. Undefined if the stored leaves differ from the checkpoint.
   */
  leaves?: (from: number, count: number) => Promise<SealedLeaf[]>;
  rows?: SealRows;
  /** The problem with the tables; null if there is none. */
  mistake: string | null;
};

/** The stored roots of earlier trees. Each method returns what is wrong with them. */
export type SealRows = {
  /** Reads the seals of trees larger than `after`, up to `upTo`. */
  read: (after: number, upTo: number) => Promise<void>;
  /** @param position of the tree's last event. */
  compare: (tree: Tree, position: number) => string | undefined;
  /** @param events in the whole history. */
  end: (events: number) => Promise<string | undefined>;
};

/** Reports completed work. */
export type Step = (more: { leaves?: number; events?: number }) => void;

/** Facts that the events do not contain. All but the register are only known in the database. */
export type Beside = {
  register?: RegisteredHistory | undefined;
  seals?: Seals;
  /** Returns the subjects whose keys an event after the ones read here destroyed. */
  endedLater?: (subjectIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Returns the first of these subjects that has a key; undefined if none has one. */
  firstWithKey?: (subjectIds: readonly string[]) => Promise<string | undefined>;
  step?: Step;
};

/**
 * Compares events, in order of position, with a checkpoint.
 *
 * Names the first difference exactly if an event contradicts itself or another, or if the checkpoint's leaves are
 * available. Otherwise, the parts of the checkpoint show between which positions it lies.
 */
export async function verifyEvents(
  checkpoint: Checkpoint,
  batches: AsyncIterable<Batch>,
  { register, seals = { mistake: null }, endedLater, firstWithKey, step }: Beside = {},
): Promise<Verdict> {
  const { size, root, parts } = checkpoint;
  const tree = new Tree();
  const streams = new Streams();
  const warnings: Verdict['warnings'] = [];
  let warningCount = 0;
  let read = 0;
  let proved = 0;
  let newer = 0;
  let unprovedPersonal = 0;
  /** The latest time of the events read. */
  let latest = -Infinity;
  const sealedAt = Date.parse(checkpoint.sealedAt);
  let nextPart = 0;
  let endOfNextPart = parts[0]?.leaves ?? Infinity;
  /** The last position read, and the first that no part of the checkpoint proves. */
  let last = 0;
  let unproved = 1;
  let sealsMistake = seals.mistake;

  const verdict = (firstWrongPosition: number | null, code: Code | null, reason: string | null): Verdict => {
    return {
      ...{ ok: code === null, events: read, provedEvents: proved, newerEvents: newer },
      ...{ firstWrongPosition, code, reason },
      ...{ unprovedPersonal, warnings, warningCount, checkpoint: againstOf(checkpoint) },
    };
  };
  const warn = (position: number, reason: string): void => {
    warningCount += 1;
    if (warnings.length < MOST_WARNINGS) warnings.push({ position, reason });
  };
  const wrong = (firstWrongPosition: number | null, code: Code, reason: string): Verdict => {
    const also = sealsMistake ? ` The database’s own seals are wrong too: ${sealsMistake}.` : '';
    return verdict(firstWrongPosition, code, reason + also);
  };
  const rest = () => {
    const from = nextPart === 0 ? 'the beginning' : `position ${parts[nextPart - 1]!.lastPosition}`;
    return `between ${from} and position ${checkpoint.position}, the checkpoint’s`;
  };
  const missing = async (): Promise<Verdict> => {
    const lacking = size - tree.size;
    const count = `${lacking} of the ${size} events of the checkpoint ${lacking === 1 ? 'is' : 'are'} missing`;
    const [sealed] = (await seals.leaves?.(tree.size, 1)) ?? [];
    if (sealed) return wrong(sealed.position, 'missing', `${count}, from position ${sealed.position} on.`);
    // Everything between the last event and the checkpoint's position may be missing. If nothing is between them, an
    // earlier event is missing.
    return last < checkpoint.position
      ? wrong(
          last + 1,
          'missing',
          `${count}. These are the newest, after position ${last}, or others ${rest()}.`,
        )
      : wrong(unproved, 'missing', `${count}, ${rest()}.`);
  };

  if (size === 0 && !areSame(root, tree.root()))
    return wrong(null, 'root', 'The checkpoint covers no events, but its root is wrong.');
  for await (const batch of batches) {
    step?.({ events: batch.count });
    const begin = tree.size;
    const sealedLeaves = await seals.leaves?.(begin, Math.min(batch.count + 1, size - begin));
    const sealed = (): SealedLeaf | undefined => sealedLeaves?.[tree.size - begin];
    await seals.rows?.read(begin, begin + batch.count);

    for (let n = 0; n < batch.count; n += 1) {
      read += 1;
      const position = batch.positions[n]!;
      const leaf = batch.leaves.subarray(n * HASH, (n + 1) * HASH);
      const isNewer = tree.size >= size;
      if (isNewer) {
        if (position <= checkpoint.position) return wrong(position, 'late', putIn(position));
        newer += 1;
      } else {
        if (position > checkpoint.position) return missing();
        const own = sealed();
        if (own && !areSame(own.hash, leaf)) return wrong(...difference(position, own));
        if (own && own.position !== position) {
          sealsMistake ??= `seal_tiles has position ${own.position} instead of ${position}`;
        }
      }
      const { mistake, warning: wentBack } = streams.add(batch, n, isNewer);
      if (mistake !== undefined) return wrong(position, 'version', mistake);
      const time = batch.times[n]!;
      const warning =
        wentBack ??
        (time < latest - TOLERANCE_MS
          ? `The event at position ${position} was recorded more than a minute before an event with a lower position.`
          : !isNewer && time > sealedAt + TOLERANCE_MS
            ? `The event at position ${position} was recorded more than a minute after the checkpoint that contains it was sealed.`
            : undefined);
      latest = Math.max(latest, time);
      if (warning !== undefined) warn(position, warning);
      if ((batch.marks[n]! & UNPROVED) !== 0) unprovedPersonal += 1;
      tree.append(leaf);
      register?.compare(tree);
      sealsMistake ??= seals.rows?.compare(tree, position) ?? null;
      last = position;
      if (isNewer) continue;

      if (tree.size - 1 === proved) unproved = position;
      if (sealedLeaves) proved = tree.size;
      if (tree.size === endOfNextPart) {
        const part = parts[nextPart]!;
        if (!areSame(tree.completed[Math.log2(part.leaves)]!, part.hash)) {
          return wrong(
            part.firstPosition,
            'root',
            `The history differs from the checkpoint between positions ${part.firstPosition} and ${part.lastPosition}, ` +
              'although every event there matches its digest.',
          );
        }
        proved = tree.size;
        nextPart += 1;
        endOfNextPart += parts[nextPart]?.leaves ?? Infinity;
      }
      if (tree.size === size) {
        if (!areSame(tree.root(), root)) {
          return proved === size
            ? wrong(null, 'root', 'The checkpoint is inconsistent: its root does not follow from its parts.')
            : wrong(
                unproved,
                'root',
                `The history differs from the checkpoint ${rest()}, although every event matches its digest.${
                  parts.length === 0
                    ? ' Without the parts of the checkpoint, it cannot be located more exactly.'
                    : ''
                }`,
              );
        }
        proved = size;
      }
    }

    if (!batch.mistake) continue;
    read += 1;
    const { position, code, reason } = batch.mistake;
    if (tree.size < size) {
      if (position > checkpoint.position) return missing();
      const own = sealed();
      if (own && own.position < position) return wrong(own.position, 'missing', gone(own.position));
    }
    return wrong(position, code, reason);
  }
  if (tree.size < size) return missing();

  const { unread, late } = await explain(streams, endedLater);
  if (unread !== undefined) {
    return wrong(
      unread,
      'unreadable',
      `Every event matches its digest, but the personal data at position ${unread} cannot be read, although no event erased it. ` +
        (firstWithKey
          ? 'Someone destroyed or changed its key.'
          : 'Someone destroyed or changed its key, or the file was edited.'),
    );
  }
  // Events that are newer themselves are unproved anyway.
  for (const position of late.filter((one) => one <= checkpoint.position)) {
    const reason = `The personal data at position ${position} cannot be read. The event that explains this is newer than the checkpoint, so it is not proved.`;
    warn(position, reason);
  }
  const revived = firstWithKey && (await firstRevived(streams, firstWithKey));
  if (revived !== undefined) {
    const reason =
      `Every event matches its digest, but the encryption key of ${revived} is back in the table subject_keys, although an event ` +
      'destroyed it. The personal data can be read again. Delete this row, and find out who restored it.';
    return verdict(null, 'revived', reason);
  }
  sealsMistake ??= (await seals.rows?.end(tree.size)) ?? null;
  if (sealsMistake) {
    const reason = `Every event matches its digest, but the database’s own seals are wrong: ${sealsMistake}.`;
    return verdict(null, 'seals', reason);
  }
  if (!register) return verdict(null, null, null);
  const { registered, mistake } = register.judge(size);
  const found = mistake === undefined ? verdict(null, null, null) : verdict(null, 'register', mistake);
  return { ...found, checkpoint: { ...againstOf(checkpoint), register: registered } };
}

/**
 * How far the times of an honest history can go back from one position to the next. Times are those of the database's clock, and
 * requests that run at the same moment differ by seconds.
 */
const TOLERANCE_MS = 60_000;

/** Subjects to look up per call. */
const SUBJECTS = 1_000;

/**
 * Explains unreadable personal data by events that destroyed its key.
 *
 * @returns `unread`: the first position that no event explains. `late`: positions that only newer events explain, the
 *   first of each subject.
 */
async function explain(
  streams: Streams,
  endedLater: Beside['endedLater'],
): Promise<{ unread?: number; late: number[] }> {
  const late = [...streams.explainedLate()];
  const found = [...streams.unexplained()].sort((a, b) => a.position - b.position);
  for (let start = 0; start < found.length; start += SUBJECTS) {
    const some = found.slice(start, start + SUBJECTS);
    const ended = await endedLater?.(some.map(({ subjectId }) => subjectId));
    const first = some.find(({ subjectId }) => !ended?.has(subjectId));
    if (first) return { unread: first.position, late };
    late.push(...some.map(({ position }) => position));
  }
  return { late: late.sort((a, b) => a - b) };
}

/** The first subject whose key exists although an event destroyed it. */
async function firstRevived(
  streams: Streams,
  firstWithKey: NonNullable<Beside['firstWithKey']>,
): Promise<string | undefined> {
  let some: string[] = [];
  for (const id of streams.ended()) {
    some.push(id);
    if (some.length < SUBJECTS) continue;
    const found = await firstWithKey(some);
    if (found !== undefined) return found;
    some = [];
  }
  return some.length === 0 ? undefined : firstWithKey(some);
}

/** The position and reason of a difference between an event and the one sealed at its place. */
function difference(position: number, sealed: SealedLeaf): [number, Code, string] {
  if (sealed.position < position) return [sealed.position, 'missing', gone(sealed.position)];
  if (sealed.position > position) return [position, 'late', putIn(position)];
  return [
    position,
    'root',
    `The event at position ${position} differs from the sealed one, although it matches its digest.`,
  ];
}

function gone(position: number): string {
  return `The event at position ${position} is missing.`;
}

function putIn(position: number): string {
  return `The event at position ${position} was inserted after the checkpoint, although its position is before it.`;
}
