import { createHash } from 'node:crypto';

/** Hashes and proofs of an append-only Merkle tree after RFC 6962, section 2.1 (SHA-256). */

/** Reads the hash of a complete subtree: `index` counts the subtrees of 2^`level` leaves from the left. */
export type ReadSubtree = (level: number, index: number) => Promise<Buffer>;

export function leafHash(leaf: Buffer): Buffer {
  return createHash('sha256').update(LEAF).update(leaf).digest();
}

export function nodeHash(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest();
}

/** Different prefixes for leaves and nodes, so that no node can be passed off as a leaf. */
const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

export const EMPTY_ROOT = createHash('sha256').digest();

/** The root of the tree's first `size` leaves. */
export async function rootOf(size: number, read: ReadSubtree): Promise<Buffer> {
  return size === 0 ? EMPTY_ROOT : hashOf(0, size, read);
}

/** The audit path of a leaf in the tree of `size` leaves, from the leaf to the root (section 2.1.1). */
export async function inclusionPath(index: number, size: number, read: ReadSubtree): Promise<Buffer[]> {
  return pathOf(index, 0, size, read);
}

/** What proves that the first `oldSize` leaves of `size` are those of the older tree (section 2.1.2). */
export async function consistencyPath(oldSize: number, size: number, read: ReadSubtree): Promise<Buffer[]> {
  return oldSize === 0 || oldSize === size ? [] : consistencyOf(oldSize, 0, size, true, read);
}

async function hashOf(start: number, end: number, read: ReadSubtree): Promise<Buffer> {
  const size = end - start;
  const level = Math.log2(size);
  // A subtree of 2^n leaves begins at a multiple of 2^n wherever the halving below makes one.
  if (Number.isInteger(level)) return read(level, start / size);
  const middle = start + leftSize(size);
  return nodeHash(await hashOf(start, middle, read), await hashOf(middle, end, read));
}

async function pathOf(index: number, start: number, end: number, read: ReadSubtree): Promise<Buffer[]> {
  if (end - start === 1) return [];
  const middle = start + leftSize(end - start);
  return index < middle
    ? [...(await pathOf(index, start, middle, read)), await hashOf(middle, end, read)]
    : [...(await pathOf(index, middle, end, read)), await hashOf(start, middle, read)];
}

async function consistencyOf(
  oldEnd: number,
  start: number,
  end: number,
  isOldRoot: boolean,
  read: ReadSubtree,
): Promise<Buffer[]> {
  if (oldEnd === end) return isOldRoot ? [] : [await hashOf(start, end, read)];
  const middle = start + leftSize(end - start);
  return oldEnd <= middle
    ? [...(await consistencyOf(oldEnd, start, middle, isOldRoot, read)), await hashOf(middle, end, read)]
    : [...(await consistencyOf(oldEnd, middle, end, false, read)), await hashOf(start, middle, read)];
}

/** The largest power of two smaller than `size` (at least 2). */
function leftSize(size: number): number {
  return 2 ** (Math.ceil(Math.log2(size)) - 1);
}
