import { hash } from 'node:crypto';

/** Hashes of an append-only Merkle tree after RFC 6962, section 2.1 (SHA-256). */

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

function nodeHash(left: Buffer, right: Buffer): Buffer {
  return hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');
}

/** The hash of an event's leaf: its position (8 bytes, big-endian) and its digest. */
export function leafHash(position: number, digest: Buffer): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(position));
  return hash('sha256', Buffer.concat([LEAF, bytes, digest]), 'buffer');
}

/** A tree of any size in the memory of its right edge: one hash for each bit of its size. */
export class Tree {
  size = 0;
  /** By level n: the complete subtree of 2^n leaves that waits for its right sibling. */
  private readonly edge: (Buffer | undefined)[] = [];

  /**
   * Adds a complete subtree of 2^`level` leaves; the tree's size must be a multiple of that.
   *
   * @returns by level, the roots of the complete subtrees that end with it.
   */
  append(hash: Buffer, level = 0): Buffer[] {
    const completed: Buffer[] = [];
    completed[level] = hash;
    this.size += 2 ** level;
    for (let left; (left = this.edge[level]) !== undefined; level += 1) {
      completed[level + 1] = nodeHash(left, completed[level]!);
      this.edge[level] = undefined;
    }
    this.edge[level] = completed[level];
    return completed;
  }

  root(): Buffer {
    let root: Buffer | undefined;
    for (const left of this.edge) {
      if (left) root = root ? nodeHash(left, root) : left;
    }
    return root ?? hash('sha256', '', 'buffer');
  }
}
