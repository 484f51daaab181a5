import { createReadStream } from 'node:fs';
import { areSame, type Batch, type Checkpoint, eventsOfExport, leafHash, Tree } from '#libs/verify';
import { type TreeHead } from './consistency.js';

/**
 * The relation of two checkpoints of one history.
 *
 * - `grew`: the newer history begins with the whole older one.
 * - `forked`: it does not. Both notes are signed, so they are evidence.
 * - `unproved`: the proof leads to neither root, or only to the older one. This shows nothing about the
 *   checkpoints.
 */
export type Comparison = 'grew' | 'forked' | 'unproved';

/** Reads the hash of a complete subtree. `index` counts the subtrees of 2^`level` leaves from the left. */
export type ReadSubtree = (level: number, index: number) => Promise<Uint8Array>;

/**
 * Compares two trees by complete subtrees from any source. The source need not be trusted, because the subtrees
 * must lead to both roots.
 *
 * @param older has at most as many leaves as the newer one.
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
 * Compares two trees by their events.
 *
 * @param batches the whole history from its first event; its digests are recomputed.
 * @returns `unproved` with the mistake if the events are invalid or too few.
 */
export async function compareByEvents(
  older: TreeHead,
  newer: TreeHead,
  batches: AsyncIterable<Batch>,
): Promise<{ outcome: Comparison; mistake?: string }> {
  const comparing = new Comparing(older, newer);
  if (newer.size > 0) {
    for await (const { events, mistake } of batches) {
      for (const { position, digest } of events) {
        if (comparing.tree.size < newer.size) comparing.append(leafHash(position, digest));
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

/**
 * Compares two checkpoints of one organization by an export of its history.
 *
 * @param older has at most as many events as the newer one.
 * @returns `unproved` with the mistake if the export is invalid.
 * @throws Error if the file cannot be read.
 */
export function compareByFile(
  older: Checkpoint,
  newer: Checkpoint,
  file: string,
): Promise<{ outcome: Comparison; mistake?: string }> {
  const events = eventsOfExport(createReadStream(file), newer.organizationId);
  return compareByEvents(older, newer, events);
}

/** A tree that grows through the older tree to the newer one and is compared with both. */
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

  /** Valid once the tree has all leaves. */
  get outcome(): Comparison {
    if (!areSame(this.tree.root(), this.newer.root)) return 'unproved';
    return this.isOlder ? 'grew' : 'forked';
  }

  private compare(): void {
    if (this.tree.size === this.older.size) this.isOlder = areSame(this.tree.root(), this.older.root);
  }
}

/** The level of the largest complete subtree that begins with leaf `start` and does not extend beyond `end`. */
function largestSubtree(start: number, end: number): number {
  let level = 0;
  while (start % 2 ** (level + 1) === 0 && start + 2 ** (level + 1) <= end) level += 1;
  return level;
}
