import { HASH, sha256, writeHex, writeInt64 } from './platform.js';

/** Hashes of an append-only Merkle tree (RFC 6962, section 2.1). */

const leaf = new Uint8Array(1 + 8 + HASH);

/** The hash of an event's leaf: position (8 bytes, big-endian) and digest. @param digest hexadecimal. */
export function leafHash(position: number, digest: string): Uint8Array {
  writeInt64(position, leaf, 1);
  writeHex(digest, leaf, 9);
  return sha256(leaf);
}

/** A checkpoint as a leaf of the log of all organizations. */
export type Claim = { organizationId: string; size: number; root: Uint8Array };

const claim = new Uint8Array(1 + 16 + 8 + HASH);

/** The hash of such a leaf: id, size (8 bytes, big-endian) and root. */
export function claimHash({ organizationId, size, root }: Claim): Uint8Array {
  writeHex(organizationId, claim, 1);
  writeInt64(size, claim, 17);
  claim.set(root, 25);
  return sha256(claim);
}

const node = new Uint8Array(1 + 2 * HASH).fill(1);

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH);
  return sha256(node);
}

/** A tree of any size. It stores only its right edge: one hash for each bit of its size. */
export class Tree {
  size = 0;
  /** By level, after an append, up to `top`: the root of the complete subtree of 2^level leaves that ends with it. */
  readonly completed: Uint8Array[] = [];
  top = 0;
  /** By level n: the complete subtree of 2^n leaves that waits for its right sibling. */
  private readonly edge: (Uint8Array | undefined)[] = [];

  /** Appends a complete subtree of 2^`level` leaves. The tree's size must be a multiple of that. */
  append(hash: Uint8Array, level = 0): void {
    this.size += 2 ** level;
    this.completed[level] = hash;
    let top = level;
    for (let left = this.edge[top]; left; left = this.edge[top]) {
      this.edge[top] = undefined;
      this.completed[top + 1] = nodeHash(left, this.completed[top]!);
      top += 1;
    }
    this.edge[top] = this.completed[top];
    this.top = top;
  }

  root(): Uint8Array {
    const [lowest, ...others] = this.edge.filter((hash) => hash !== undefined);
    return lowest ? others.reduce((root, left) => nodeHash(left, root), lowest) : sha256('');
  }
}

/** The root above a leaf (RFC 6962, section 2.1.1). Undefined if the path does not lead to one. */
export function rootOfPath(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  const [below, sibling] = [path.slice(0, -1), path.at(-1)];
  if (size < 2 || !sibling) return index === 0 && size === 1 && !sibling ? leaf : undefined;
  let left = 1;
  while (left * 2 < size) left *= 2;
  const isLeft = index < left;
  const own = rootOfPath(leaf, isLeft ? index : index - left, isLeft ? left : size - left, below);
  return own && (isLeft ? nodeHash(own, sibling) : nodeHash(sibling, own));
}
