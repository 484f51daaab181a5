import { HASH, sha256, sha256Of, writeHex, writeInt64 } from './platform.js';

/** Hashes of an append-only Merkle tree (RFC 6962, section 2.1). */

const leaf = new Uint8Array(1 + 8 + HASH);

/** The hash of an event's leaf: position (8 bytes, big-endian) and digest. @param digest hexadecimal. */
export function leafHash(position: number, digest: string): Uint8Array {
  writeInt64(position, leaf, 1);
  writeHex(digest, leaf, 9);
  return sha256Of(leaf);
}

/** An organization's checkpoint as a leaf of the log of all organizations. */
export type Claim = { organizationId: string; size: number; root: Uint8Array };

const claim = new Uint8Array(1 + 16 + 8 + HASH);

/** The hash of such a leaf: id, size (8 bytes, big-endian) and root. */
export function claimHash({ organizationId, size, root }: Claim): Uint8Array {
  writeHex(organizationId, claim, 1);
  writeInt64(size, claim, 17);
  claim.set(root, 25);
  return sha256Of(claim);
}

const node = new Uint8Array(1 + 2 * HASH).fill(1);

export function nodeHash(
  left: Uint8Array,
  right: Uint8Array,
  into: Uint8Array = new Uint8Array(HASH),
): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH);
  sha256(node, into);
  return into;
}

/** A tree of any size. It stores only its right edge: one hash for each bit of its size. */
export class Tree {
  size = 0;
  /**
   * By level, after an append: the root of the complete subtree of 2^level leaves that ends with it, up to `top`. Entries
   * below the appended level are outdated.
   */
  readonly completed: Uint8Array[] = [];
  top = 0;
  /** By level n: the complete subtree of 2^n leaves that waits for its right sibling. */
  private readonly edge: Uint8Array[] = [];
  private readonly isWaiting: boolean[] = [];

  /** Appends a complete subtree of 2^`level` leaves. The tree's size must be a multiple of that. */
  append(hash: Uint8Array, level = 0): void {
    bufferAt(this.completed, level).set(hash);
    this.size += 2 ** level;
    let top = level;
    for (; this.isWaiting[top]; top += 1) {
      nodeHash(this.edge[top]!, this.completed[top]!, bufferAt(this.completed, top + 1));
      this.isWaiting[top] = false;
    }
    bufferAt(this.edge, top).set(this.completed[top]!);
    this.isWaiting[top] = true;
    this.top = top;
  }

  root(): Uint8Array {
    const waiting = this.edge.filter((_, level) => this.isWaiting[level]);
    if (waiting.length === 0) return sha256Of('');
    return waiting.reduce((root, left) => nodeHash(left, root)).slice();
  }
}

function bufferAt(buffers: Uint8Array[], level: number): Uint8Array {
  return (buffers[level] ??= new Uint8Array(HASH));
}

/** The root above a leaf (RFC 9162, section 2.1.3.2). Undefined if the path does not lead to it. */
export function rootOfPath(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  let root = leaf;
  const isWhole = climb(index, size - 1, path, (hash, isLeft) => {
    root = isLeft ? nodeHash(hash, root) : nodeHash(root, hash);
  });
  return index < size && isWhole ? root : undefined;
}

/**
 * Climbs from node `first` of a level whose last node is `last`. @param join adds the hash to its left or right.
 * @returns whether the path ends at the root.
 */
export function climb(
  first: number,
  last: number,
  path: readonly Uint8Array[],
  join: (hash: Uint8Array, isLeft: boolean) => void,
): boolean {
  for (const hash of path) {
    if (last === 0) return false;
    const isLeft = first % 2 === 1 || first === last;
    join(hash, isLeft);
    if (isLeft) while (first % 2 === 0 && first !== 0) [first, last] = [half(first), half(last)];
    [first, last] = [half(first), half(last)];
  }
  return last === 0;
}

/** @returns the node above this one. */
export const half = (number: number) => Math.floor(number / 2);
