import { HASH, sha256, sha256Of, writeHex, writeInt64 } from './platform.js';

/** Hashes of an append-only Merkle tree (RFC 6962, section 2.1). */

const leaf = new Uint8Array(1 + 8 + HASH);

/** Writes the hash of an event's leaf: position (8 bytes, big-endian) and digest (hexadecimal). */
export function leafHash(position: number, digest: string, into: Uint8Array, at: number): void {
  writeInt64(position, leaf, 1);
  writeHex(digest, leaf, 9);
  sha256(leaf, into, at);
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
   * By level, after an append: the root of the complete subtree of 2^level leaves that ends with it, up to
   * `top`. Entries below the appended level are outdated.
   */
  readonly completed: Uint8Array[] = [];
  top = 0;
  /** By level n: the complete subtree of 2^n leaves that waits for its right sibling. */
  private readonly edge: Uint8Array[] = [];
  private readonly isWaiting: boolean[] = [];

  /** Appends a complete subtree of 2^`level` leaves. The tree's size must be a multiple of that. */
  append(hash: Uint8Array, level = 0): void {
    this.bufferAt(this.completed, level).set(hash);
    this.size += 2 ** level;
    let top = level;
    for (; this.isWaiting[top]; top += 1) {
      nodeHash(this.edge[top]!, this.completed[top]!, this.bufferAt(this.completed, top + 1));
      this.isWaiting[top] = false;
    }
    this.bufferAt(this.edge, top).set(this.completed[top]!);
    this.isWaiting[top] = true;
    this.top = top;
  }

  /** Appends an event. @param digest hexadecimal. */
  appendEvent(position: number, digest: string): void {
    const hash = new Uint8Array(HASH);
    leafHash(position, digest, hash, 0);
    this.append(hash);
  }

  root(): Uint8Array {
    const root = sha256Of('');
    let isFirst = true;
    for (const [level, left] of this.edge.entries()) {
      if (!this.isWaiting[level]) continue;
      if (isFirst) root.set(left);
      else nodeHash(left, root, root);
      isFirst = false;
    }
    return root;
  }

  private bufferAt(buffers: Uint8Array[], level: number): Uint8Array {
    return (buffers[level] ??= new Uint8Array(HASH));
  }
}
