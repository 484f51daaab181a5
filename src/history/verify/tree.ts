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

  /** @returns the roots of the complete subtrees that end with this leaf: of 1, 2, 4 … leaves. */
  append(leaf: Buffer): Buffer[] {
    const completed = [leaf];
    let level = 0;
    for (let left; (left = this.edge[level]) !== undefined; level += 1) {
      completed.push(nodeHash(left, completed[level]!));
      this.edge[level] = undefined;
    }
    this.edge[level] = completed[level];
    this.size += 1;
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
