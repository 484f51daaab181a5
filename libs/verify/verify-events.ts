import { type Checkpoint } from './checkpoint.js';
import { type Batch } from './export.js';
import { type Code } from './note.js';
import { areSame } from './platform.js';
import { type RegisteredHistory } from './register.js';
import { Streams } from './streams.js';
import { leafHash, Tree } from './tree.js';
import { againstOf, MOST_WARNINGS, unproved, type Verdict } from './verdict.js';

/** A leaf as it was sealed. */
export type SealedLeaf = { position: number; hash: Uint8Array };

/** The seals as stored in the database. `mistake`: the problem with the tables, or null. */
export type Seals = {
  mistake: string | null;
  /** Reads `count` leaves from number `from`, which ascends from call to call. Absent if they differ from the checkpoint. */
  leaves?: (from: number, count: number) => Promise<SealedLeaf[]>;
  rows?: SealRows;
};

/** The stored roots of earlier trees. `compare` and `end` return what is wrong with them. */
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

/** Facts that the events do not contain. The subjects and seals are only known in the database. */
export type Beside = {
  register?: RegisteredHistory | undefined;
  seals?: Seals;
  /** Returns those of these subjects whose keys an event after the ones read here destroyed. */
  endedLater?: (subjectIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Returns the first of these subjects, whose keys an event destroyed, that has a key again. */
  firstWithKey?: (subjectIds: Iterable<string>) => Promise<string | undefined>;
  step?: Step;
};

/**
 * How far the times of an honest history can go back from one position to the next. Times are those of the database's clock, and
 * requests that run at the same moment differ by seconds.
 */
const TOLERANCE_MS = 60_000;

/**
 * Compares events, in order of position, with a checkpoint.
 *
 * Names the first difference exactly if an event contradicts itself or another, or if the checkpoint's leaves are available.
 * Otherwise, the parts of the checkpoint show between which positions it lies.
 */
export async function verifyEvents(
  checkpoint: Checkpoint,
  batches: AsyncIterable<Batch>,
  { register, seals = { mistake: null }, endedLater, firstWithKey, step }: Beside = {},
): Promise<Verdict> {
  const { size, root } = checkpoint;
  const [tree, streams, parts] = [new Tree(), new Streams(), [...checkpoint.parts]];
  const against = againstOf(checkpoint);
  const found: Verdict = { ...unproved(null, null), ok: true, checkpoint: against };
  const sealedAt = Date.parse(checkpoint.sealedAt);
  /** The latest time and the last position of the events read, and the first position that no part of the checkpoint proves. */
  let [latest, last, unprovedFrom] = [-Infinity, 0, 1];
  /** Where the proved parts end. */
  let begun = 'the beginning';
  let endOfPart = parts[0]?.leaves ?? Infinity;
  let sealsMistake = seals.mistake;

  const differs = (firstWrongPosition: number | null, code: Code, reason: string): Verdict => {
    return { ...found, ok: false, firstWrongPosition, code, reason };
  };
  const wrong = (position: number | null, code: Code, reason: string): Verdict => {
    const also = sealsMistake ? ` The database’s own seals are wrong too: ${sealsMistake}.` : '';
    return differs(position, code, reason + also);
  };
  const warn = (position: number, reason: string): void => {
    found.warningCount += 1;
    if (found.warnings.length < MOST_WARNINGS) found.warnings.push({ position, reason });
  };
  const rest = () => `between ${begun} and position ${checkpoint.position}, the checkpoint’s`;
  const missing = async (): Promise<Verdict> => {
    const lacking = size - tree.size;
    const count = `${lacking} of the ${size} events of the checkpoint ${lacking === 1 ? 'is' : 'are'} missing`;
    const [sealed] = (await seals.leaves?.(tree.size, 1)) ?? [];
    if (sealed) return wrong(sealed.position, 'missing', `${count}, from position ${sealed.position} on.`);
    // Everything between the last event and the checkpoint's position may be missing. If nothing is between them, an earlier
    // event is missing.
    if (last >= checkpoint.position) return wrong(unprovedFrom, 'missing', `${count}, ${rest()}.`);
    const newest = `These are the newest, after position ${last}, or others ${rest()}.`;
    return wrong(last + 1, 'missing', `${count}. ${newest}`);
  };

  if (size === 0 && !areSame(root, tree.root()))
    return wrong(null, 'root', 'The checkpoint covers no events, but its root is wrong.');
  for await (const batch of batches) {
    const { length } = batch.events;
    step?.({ events: length });
    const begin = tree.size;
    const sealedLeaves = await seals.leaves?.(begin, Math.min(length + 1, size - begin));
    await seals.rows?.read(begin, begin + length);

    for (const event of batch.events) {
      found.events += 1;
      const { position, time } = event;
      const leaf = leafHash(position, event.digest);
      const isNewer = tree.size >= size;
      if (isNewer) {
        if (position <= checkpoint.position) return wrong(position, 'late', insertedAt(position));
        found.newerEvents += 1;
      } else {
        if (position > checkpoint.position) return missing();
        const own = sealedLeaves?.[tree.size - begin];
        if (own && !areSame(own.hash, leaf)) return wrong(...difference(position, own));
        if (own && own.position !== position)
          sealsMistake ??= `seal_tiles has position ${own.position} instead of ${position}`;
      }
      const { mistake, warning: wentBack } = streams.add(event, isNewer);
      if (mistake !== undefined) return wrong(position, 'version', mistake);
      const recorded = () => `The event at position ${position} was recorded more than a minute`;
      if (wentBack !== undefined) warn(position, wentBack);
      else if (time < latest - TOLERANCE_MS)
        warn(position, `${recorded()} before an event with a lower position.`);
      else if (!isNewer && time > sealedAt + TOLERANCE_MS)
        warn(position, `${recorded()} after the checkpoint that contains it was sealed.`);
      latest = Math.max(latest, time);
      if (event.personal === 'unproved') found.unprovedPersonal += 1;
      tree.append(leaf);
      register?.compare(tree);
      sealsMistake ??= seals.rows?.compare(tree, position) ?? null;
      last = position;
      if (isNewer) continue;

      if (tree.size - 1 === found.provedEvents) unprovedFrom = position;
      if (sealedLeaves) found.provedEvents = tree.size;
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
        if (found.provedEvents === size)
          return wrong(
            null,
            'root',
            'The checkpoint is inconsistent: its root does not follow from its parts.',
          );
        const reason = `The history differs from the checkpoint ${rest()}, although every event matches its digest.`;
        const without = ' Without the parts of the checkpoint, it cannot be located more exactly.';
        return wrong(unprovedFrom, 'root', checkpoint.parts.length === 0 ? reason + without : reason);
      }
      found.provedEvents = size;
    }

    if (!batch.mistake) continue;
    found.events += 1;
    const { position, code, reason } = batch.mistake;
    if (tree.size < size) {
      if (position > checkpoint.position) return missing();
      const own = sealedLeaves?.[tree.size - begin];
      if (own && own.position < position) return wrong(own.position, 'missing', missingAt(own.position));
    }
    return wrong(position, code, reason);
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
    const reason =
      `Every event matches its digest, but the encryption key of ${revived} is back in the table subject_keys, although an event ` +
      'destroyed it. The personal data can be read again. Delete this row, and find out who restored it.';
    return differs(null, 'revived', reason);
  }
  sealsMistake ??= (await seals.rows?.end(tree.size)) ?? null;
  if (sealsMistake) {
    const reason = `Every event matches its digest, but the database’s own seals are wrong: ${sealsMistake}.`;
    return differs(null, 'seals', reason);
  }
  if (!register) return found;
  const { registered, mistake } = register.judge(size);
  against.register = registered;
  return mistake === undefined ? found : differs(null, 'register', mistake);
}

/** The position and reason of a difference between an event and the one sealed at its place. */
function difference(position: number, sealed: SealedLeaf): [number, Code, string] {
  if (sealed.position < position) return [sealed.position, 'missing', missingAt(sealed.position)];
  if (sealed.position > position) return [position, 'late', insertedAt(position)];
  const reason = `The event at position ${position} differs from the sealed one, although it matches its digest.`;
  return [position, 'root', reason];
}

const missingAt = (position: number) => `The event at position ${position} is missing.`;
const insertedAt = (position: number) =>
  `The event at position ${position} was inserted after the checkpoint, although its position is before it.`;
