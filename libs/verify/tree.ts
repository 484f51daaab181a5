import { HASH, sha256, writeInt64 } from './sha256.js';

/** Hashes of an append-only Merkle tree (RFC 6962, section 2.1). */

const leaf = Buffer.alloc(1 + 8 + HASH);

/** Writes the hash of an event's leaf: position (8 bytes, big-endian) and digest (hexadecimal). */
export function leafHash(position: number, digest: string, into: Uint8Array, at: number): void {
  writeInt64(position, leaf, 1);
  leaf.write(digest, 9, 'hex');
  sha256(leaf, into, at);
}

/** An organization's checkpoint as a leaf of the log of all organizations. */
export type Claim = { organizationId: string; size: number; root: Buffer };

const claim = Buffer.alloc(1 + 16 + 8 + HASH);

/** The hash of such a leaf: id, size (8 bytes, big-endian) and root. */
export function claimHash({ organizationId, size, root }: Claim): Buffer {
  claim.write(organizationId.replaceAll('-', ''), 1, 'hex');
  writeInt64(size, claim, 17);
  claim.set(root, 25);
  const hash = Buffer.alloc(HASH);
  sha256(claim, hash);
  return hash;
}

const node = Buffer.alloc(1 + 2 * HASH, 1);

export function nodeHash(left: Uint8Array, right: Uint8Array, into: Uint8Array): void {
  node.set(left, 1);
  node.set(right, 1 + HASH);
  sha256(node, into);
}

/** A tree of any size. It stores only its right edge: one hash for each bit of its size. */
export class Tree {
  size = 0;
  /**
   * By level, after an append: the root of the complete subtree of 2^level leaves that ends with it, up to
   * `top`. Entries below the appended level are outdated.
   */
  readonly completed: Buffer[] = [];
  top = 0;
  /** By level n: the complete subtree of 2^n leaves that waits for its right sibling. */
  private readonly edge: Buffer[] = [];
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

  root(): Buffer {
    const root = Buffer.alloc(HASH);
    sha256('', root);
    let isFirst = true;
    for (const [level, left] of this.edge.entries()) {
      if (!this.isWaiting[level]) continue;
      if (isFirst) root.set(left);
      else nodeHash(left, root, root);
      isFirst = false;
    }
    return root;
  }

  private bufferAt(buffers: Buffer[], level: number): Buffer {
    return (buffers[level] ??= Buffer.alloc(HASH));
  }
}
