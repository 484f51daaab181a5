import { HASH, sha256, sha256Of, writeHex, writeInt64 } from './platform.js';

/** Hashes of an append-only Merkle tree (RFC 6962, section 2.1). */

const leaf = new Uint8Array(1 + 8 + HASH);

/** The hash of an event's leaf: position (8 bytes, big-endian) and digest. @param digest hexadecimal. */
export function leafHash(position: number, digest: string): Uint8Array {
  writeInt64(position, leaf, 1);
  writeHex(digest, leaf, 9);
  return sha256Of(leaf);
}

/** A checkpoint as a leaf of the log of all organizations. */
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
  /** By level, after an append, up to `top`: the root of the complete subtree of 2^level leaves that ends with it. */
  readonly completed: Uint8Array[] = [];
  top = 0;
  /** By level n: the complete subtree of 2^n leaves that waits for its right sibling. */
  private readonly edge: Uint8Array[] = [];
  private readonly isWaiting: boolean[] = [];

  /** Appends a complete subtree of 2^`level` leaves. The tree's size must be a multiple of that. */
  append(hash: Uint8Array, level = 0): void {
    const at = (buffers: Uint8Array[], n: number) => (buffers[n] ??= new Uint8Array(HASH));
    at(this.completed, level).set(hash);
    this.size += 2 ** level;
    let top = level;
    for (; this.isWaiting[top]; top += 1) {
      nodeHash(this.edge[top]!, this.completed[top]!, at(this.completed, top + 1));
      this.isWaiting[top] = false;
    }
    at(this.edge, top).set(this.completed[top]!);
    this.isWaiting[top] = true;
    this.top = top;
  }

  root(): Uint8Array {
    const waiting = this.edge.filter((_, level) => this.isWaiting[level]);
    if (waiting.length === 0) return sha256Of('');
    return waiting.reduce((root, left) => nodeHash(left, root)).slice();
  }
}

/** The root above a leaf (RFC 6962, section 2.1.1). Undefined if the path does not lead to one. */
export function rootOfPath(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  if (size < 2 || path.length === 0) return index === 0 && size === 1 && path.length === 0 ? leaf : undefined;
  const [below, sibling] = [path.slice(0, -1), path.at(-1)!];
  let left = 1;
  while (left * 2 < size) left *= 2;
  const isLeft = index < left;
  const own = rootOfPath(leaf, isLeft ? index : index - left, isLeft ? left : size - left, below);
  return own && (isLeft ? nodeHash(own, sibling) : nodeHash(sibling, own));
}
