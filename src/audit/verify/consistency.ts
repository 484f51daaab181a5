import { fromBase64 } from './note.js';
import { HASH } from './sha256.js';
import { nodeHash } from './tree.js';

/** The tree that a checkpoint describes. */
export type TreeHead = { size: number; root: Buffer };

/**
 * Parses the first three lines of a checkpoint, regardless of its signatures. Undefined if they are malformed.
 */
export function headOf(checkpoint: string): (TreeHead & { origin: string }) | undefined {
  const [origin = '', size = '', root = ''] = checkpoint.split('\n', 3);
  const hash = fromBase64(root);
  if (origin === '' || !/^(0|[1-9]\d{0,15})$/.test(size) || hash?.length !== HASH) return undefined;
  return { origin, size: Number(size), root: hash };
}

/**
 * Whether the proof shows that the newer tree is the older one with leaves appended (RFC 9162, section 2.1.4.2;
 * RFC 6962 has the same algorithm). Supports sizes up to 2^53.
 */
export function isConsistent(older: TreeHead, newer: TreeHead, proof: readonly Buffer[]): boolean {
  if (older.size > newer.size || proof.some(({ length }) => length !== HASH)) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0;

  // The path from the right edge of the older tree to the root of the newer one. A complete subtree needs no
  // proof.
  const path = isPowerOfTwo(older.size) ? [older.root, ...proof] : [...proof];
  let [first, last] = [older.size - 1, newer.size - 1];
  while (first % 2 === 1) [first, last] = [half(first), half(last)];
  const [begin, ...rest] = path;
  if (!begin) return false;
  let [old, now] = [begin, begin];
  for (const hash of rest) {
    if (last === 0) return false;
    if (first % 2 === 1 || first === last) {
      old = parent(hash, old);
      now = parent(hash, now);
      while (first % 2 === 0 && first !== 0) [first, last] = [half(first), half(last)];
    } else {
      now = parent(now, hash);
    }
    [first, last] = [half(first), half(last)];
  }
  return last === 0 && old.equals(older.root) && now.equals(newer.root);
}

const half = (number: number) => Math.floor(number / 2);

function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size)) && 2 ** Math.log2(size) === size;
}

function parent(left: Buffer, right: Buffer): Buffer {
  const hash = Buffer.alloc(HASH);
  nodeHash(left, right, hash);
  return hash;
}
