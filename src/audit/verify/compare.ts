import { type Batch } from './batch.js';
import { type TreeHead } from './consistency.js';
import { HASH } from './sha256.js';
import { Tree } from './tree.js';

/**
 * What two checkpoints of one history are to each other.
 *
 * - `grew`: the newer history begins with the whole older one.
 * - `forked`: it does not. Both are signed, so the two notes are evidence.
 * - `unproved`: what was to prove it leads to neither, or to the older one alone. That says nothing of the two.
 */
export type Comparison = 'grew' | 'forked' | 'unproved';

/** The hash of a complete subtree: `index` counts those of 2^`level` leaves from the left. */
export type ReadSubtree = (level: number, index: number) => Promise<Uint8Array>;

/**
 * Compares two trees by complete subtrees from wherever: nothing of them is believed, because they must lead to both roots.
 *
 * @param older has as many leaves as the newer one at most.
 */
export async function compareBySubtrees(
  older: TreeHead,
  newer: TreeHead,
  read: ReadSubtree,
): Promise<Comparison> {
  const comparing = new Comparing(older, newer);
  for (let { size } = comparing.tree; size < newer.size; { size } = comparing.tree) {
    const level = largestSubtree(size, size < older.size ? older.size : newer.size);
    comparing.append(await read(level, size / 2 ** level), level);
  }
  return comparing.outcome;
}

/**
 * Compares two trees by the events that they are made of.
 *
 * @param batches the whole history, from its first event on; its digests are recomputed.
 * @returns `unproved` with what is wrong with the events, where they are not right by themselves, or too few.
 */
export async function compareByEvents(
  older: TreeHead,
  newer: TreeHead,
  batches: AsyncIterable<Batch>,
): Promise<{ outcome: Comparison; mistake?: string }> {
  const comparing = new Comparing(older, newer);
  if (newer.size > 0) {
    for await (const { count, leaves, mistake } of batches) {
      for (let n = 0; n < count && comparing.tree.size < newer.size; n += 1) {
        comparing.append(leaves.subarray(n * HASH, (n + 1) * HASH));
      }
      if (comparing.tree.size === newer.size) break;
      if (mistake) return { outcome: 'unproved', mistake: mistake.reason };
    }
  }
  const { size } = comparing.tree;
  if (size < newer.size) {
    return { outcome: 'unproved', mistake: `It has ${size} of the ${newer.size} events.` };
  }
  return { outcome: comparing.outcome };
}

/** A tree that grows through the older one to the newer, and is compared with each. */
class Comparing {
  readonly tree = new Tree();
  private isOlder = false;

  constructor(
    private readonly older: TreeHead,
    private readonly newer: TreeHead,
  ) {
    this.compare();
  }

  append(hash: Uint8Array, level = 0): void {
    this.tree.append(hash, level);
    this.compare();
  }

  /** Once the tree has all leaves. */
  get outcome(): Comparison {
    if (!this.tree.root().equals(this.newer.root)) return 'unproved';
    return this.isOlder ? 'grew' : 'forked';
  }

  private compare(): void {
    if (this.tree.size === this.older.size) this.isOlder = this.tree.root().equals(this.older.root);
  }
}

/** The level of the largest complete subtree that begins with leaf `start` and ends at `end` at most. */
function largestSubtree(start: number, end: number): number {
  let level = 0;
  while (start % 2 ** (level + 1) === 0 && start + 2 ** (level + 1) <= end) level += 1;
  return level;
}
