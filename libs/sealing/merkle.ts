import { createHash } from 'node:crypto';

/** Hashes and proofs of an append-only Merkle tree (RFC 6962, section 2.1, SHA-256). */

/** Reads the hash of a complete subtree: `index` counts the subtrees of 2^`level` leaves from the left. */
export type ReadSubtree = (level: number, index: number) => Promise<Buffer>;

export function leafHash(leaf: Buffer): Buffer {
  return createHash('sha256').update(LEAF).update(leaf).digest();
}

export function nodeHash(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest();
}

/** Leaves and nodes have different prefixes, so that a node cannot pass for a leaf. */
const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

const EMPTY_ROOT = createHash('sha256').digest();

export async function rootOf(size: number, read: ReadSubtree): Promise<Buffer> {
  return size === 0 ? EMPTY_ROOT : hashOf(0, size, read);
}

/** The audit path of a leaf in the tree of `size` leaves, from the leaf to the root (section 2.1.1). */
export async function inclusionPath(index: number, size: number, read: ReadSubtree): Promise<Buffer[]> {
  return pathOf(index, 0, size, read);
}

/** Proves that the first `oldSize` of `size` leaves are those of the older tree (section 2.1.2). */
export async function consistencyPath(oldSize: number, size: number, read: ReadSubtree): Promise<Buffer[]> {
  return oldSize === 0 || oldSize === size ? [] : consistencyOf(oldSize, 0, size, true, read);
}

/**
 * The root that a leaf's audit path leads to (RFC 9162, section 2.1.3.2). Undefined if the path has the wrong
 * length.
 */
export function rootOfPath(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | undefined {
  let [first, last, hash] = [index, size - 1, leaf];
  for (const step of path) {
    if (last === 0) return undefined;
    if (isOdd(first) || first === last) {
      hash = nodeHash(step, hash);
      while (!isOdd(first) && first > 0) [first, last] = [half(first), half(last)];
    } else hash = nodeHash(hash, step);
    [first, last] = [half(first), half(last)];
  }
  return last === 0 && index < size ? hash : undefined;
}

/** The root over complete subtrees that follow each other from the left without gaps. */
export function rootOfSubtrees(subtrees: readonly { leaves: number; hash: Buffer }[]): Buffer {
  const open: { leaves: number; hash: Buffer }[] = [];
  for (const subtree of subtrees) {
    let { leaves, hash } = subtree;
    while (open.at(-1)?.leaves === leaves) {
      hash = nodeHash(open.pop()!.hash, hash);
      leaves *= 2;
    }
    open.push({ leaves, hash });
  }
  const hashes = open.map(({ hash }) => hash);
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => nodeHash(left, right));
}

export type Tree = { size: number; root: Buffer };

/** Whether the path proves that the older tree is a prefix of the newer one (RFC 9162, section 2.1.4.2). */
export function isConsistent(older: Tree, newer: Tree, path: readonly Buffer[]): boolean {
  if (older.size === newer.size) return path.length === 0 && older.root.equals(newer.root);
  if (older.size === 0 || older.size > newer.size) return older.size === 0 && path.length === 0;
  // The path omits a complete subtree of the newer tree, because it is the older root.
  const [begin, ...steps] = Number.isInteger(Math.log2(older.size)) ? [older.root, ...path] : path;
  if (!begin) return false;
  let [first, last] = [older.size - 1, newer.size - 1];
  while (isOdd(first)) [first, last] = [half(first), half(last)];
  let [olderRoot, newerRoot] = [begin, begin];
  for (const step of steps) {
    if (last === 0) return false;
    if (isOdd(first) || first === last) {
      olderRoot = nodeHash(step, olderRoot);
      newerRoot = nodeHash(step, newerRoot);
      while (!isOdd(first) && first > 0) [first, last] = [half(first), half(last)];
    } else newerRoot = nodeHash(newerRoot, step);
    [first, last] = [half(first), half(last)];
  }
  return last === 0 && olderRoot.equals(older.root) && newerRoot.equals(newer.root);
}

// Sizes can exceed 32 bits, the limit of bitwise operators.
const isOdd = (number: number) => number % 2 === 1;
const half = (number: number) => Math.floor(number / 2);

async function hashOf(start: number, end: number, read: ReadSubtree): Promise<Buffer> {
  const size = end - start;
  const level = Math.log2(size);
  // If the halving below reaches a subtree of 2^n leaves, it begins at a multiple of 2^n.
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
