import { type Checkpoint } from './checkpoint.js';
import { type SealedLeaf, type Seals } from './seal-tables.js';
import { leafHash, Tree } from './tree.js';
import { type Found, type Verdict } from './verdict.js';

/**
 * Compares events, in the order of their positions, with a checkpoint, in constant memory.
 *
 * The first difference is named exactly where an event contradicts itself, or where the leaves the checkpoint was
 * made of are at hand; else a part of the checkpoint says between which positions it lies.
 */
export async function verifyEvents(
  checkpoint: Checkpoint,
  events: AsyncIterable<Found>,
  seals: Seals = { mistake: null },
): Promise<Verdict> {
  const { size, root, parts } = checkpoint;
  const tree = new Tree();
  let read = 0;
  let proved = 0;
  let nextPart = 0;
  let endOfNextPart = parts[0]?.leaves ?? Infinity;
  /** The position read last, and the first one that no part vouches for. */
  let last = 0;
  let unproved = 1;
  let sealsMistake = seals.mistake;

  const verdict = (ok: boolean, firstWrongPosition: number | null, reason: string | null): Verdict => ({
    ...{ ok, events: read, provedEvents: proved, firstWrongPosition, reason },
    ...{ warnings: [], warningCount: 0 },
  });
  const wrong = (firstWrongPosition: number | null, reason: string): Verdict => {
    const also = sealsMistake ? ` The database’s own seals are wrong too: ${sealsMistake}.` : '';
    return verdict(false, firstWrongPosition, reason + also);
  };
  const rest = () => {
    const from = nextPart === 0 ? 'the beginning' : `position ${parts[nextPart - 1]!.lastPosition}`;
    return `between ${from} and position ${checkpoint.position}, the checkpoint’s`;
  };
  const missing = async (): Promise<Verdict> => {
    const count = `${size - tree.size} of the ${size} events of the checkpoint are missing`;
    const sealed = await seals.leaves?.(tree.size);
    if (sealed) return wrong(sealed.position, `${count}, from position ${sealed.position} on.`);
    // All that is between the last event and the checkpoint's position may be gone; where nothing is between, an
    // event before it is.
    return last < checkpoint.position
      ? wrong(last + 1, `${count}: the newest, after position ${last}, or others ${rest()}.`)
      : wrong(unproved, `${count}, ${rest()}.`);
  };

  if (size === 0 && !root.equals(tree.root()))
    return wrong(null, 'The checkpoint of no events has a wrong root.');
  for await (const found of events) {
    read += 1;
    if (tree.size === size) {
      if ('mistake' in found) return wrong(found.position, found.mistake);
      if (found.position <= checkpoint.position) return wrong(found.position, putIn(found.position));
      continue;
    }
    const sealed = await seals.leaves?.(tree.size);
    if (found.position > checkpoint.position) return missing();
    if ('mistake' in found) {
      return sealed && sealed.position < found.position
        ? wrong(sealed.position, gone(sealed.position))
        : wrong(found.position, found.mistake);
    }
    const leaf = leafHash(found.position, found.digest);
    if (sealed && !leaf.equals(sealed.hash)) return wrong(...difference(found.position, sealed));
    if (sealed && sealed.position !== found.position) {
      sealsMistake ??= `seal_tiles has position ${sealed.position} in place of ${found.position}`;
    }

    last = found.position;
    if (tree.size === proved) unproved = found.position;
    const completed = tree.append(leaf);
    if (sealed) proved = tree.size;
    if (tree.size === endOfNextPart) {
      const part = parts[nextPart]!;
      if (!completed[Math.log2(part.leaves)]!.equals(part.hash)) {
        return wrong(
          part.firstPosition,
          `The history differs from the checkpoint between positions ${part.firstPosition} and ${part.lastPosition}, ` +
            'although every event there agrees with its digest.',
        );
      }
      proved = tree.size;
      nextPart += 1;
      endOfNextPart += parts[nextPart]?.leaves ?? Infinity;
    }
    if (tree.size === size) {
      if (!tree.root().equals(root)) {
        return proved === size
          ? wrong(null, 'The checkpoint contradicts itself: its root does not follow from its parts.')
          : wrong(
              unproved,
              `The history differs from the checkpoint ${rest()}, although every event agrees with its digest.`,
            );
      }
      proved = size;
    }
  }
  if (tree.size < size) return missing();
  if (sealsMistake) {
    const reason = `Every event is as it was sealed, but the database’s own seals are not: ${sealsMistake}.`;
    return verdict(false, null, reason);
  }
  return verdict(true, null, null);
}

/** Where an event is not the one that was sealed at its place. */
function difference(position: number, sealed: SealedLeaf): [number, string] {
  if (sealed.position < position) return [sealed.position, gone(sealed.position)];
  if (sealed.position > position) return [position, putIn(position)];
  return [
    position,
    `The event at position ${position} is not the one that was sealed, although its digest is its own.`,
  ];
}

function gone(position: number): string {
  return `The event at position ${position} is missing.`;
}

function putIn(position: number): string {
  return `The event at position ${position} was put in after the checkpoint was made, although it lies before it.`;
}
