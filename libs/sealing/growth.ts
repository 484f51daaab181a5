import { leafHash, type Tree } from './merkle.js';
import { ALL_ORGANIZATIONS, type SealedTree, textOf } from './note.js';
import { type SignedTree, type Signers } from './signers.js';
import { type StoredTree } from './stored-trees.js';
import { type GrowingTree } from './tiles.js';

/** Why an organization is quarantined: clauses for operators. */
export const REFUSALS = {
  key: 'no key in SIGNING_KEY or SIGNING_KEY_PREVIOUS signed the last note, or its signature is invalid',
  seals: 'the table seals does not match the last signed note',
  tiles: 'the table seal_tiles does not match the last signed note',
  events: 'the events do not match the last signed note, or the later rows of the table seals',
  leaves: 'the table checkpoint_leaves does not match the last signed note, or has more rows than it covers',
  older: 'the log of all organizations contains a later or a different checkpoint than the last signed note',
} as const;

export type Refusal = (typeof REFUSALS)[keyof typeof REFUSALS];

/** The state that the next seal builds on. Both are undefined before the first seal. */
export type Base = { signed: SignedTree | undefined; tree: SealedTree | undefined };

/**
 * Returns the state that the next seal builds on: the last signed note, regardless of the table of seals. If
 * nothing was signed yet, it is the last seal of an earlier version.
 *
 * @param sealedUpTo the position that sealing has reached. No seal is beyond it: see `reachOf`.
 */
export function baseOf(
  { organizationId, note, last, leaf }: StoredTree,
  signers: Signers,
  sealedUpTo: number,
): Base | Refusal {
  const signed = note === null ? undefined : signers.open(note);
  if (note !== null && signed?.organizationId !== organizationId) return REFUSALS.key;
  // Leaves of this log are stored together with the note that covers them, and earlier versions do not seal it.
  const isAll = organizationId === ALL_ORGANIZATIONS;
  if (isAll && (signed?.position ?? 0) !== sealedUpTo) return REFUSALS.leaves;
  if (leaf && !isAsLate(signed, leaf)) return REFUSALS.older;
  if (signed && last && textOf(last) === textOf(signed)) return { signed, tree: signed };
  if (last && (isAll || last.position > sealedUpTo)) return REFUSALS.seals;
  // An earlier version may have sealed more than the note covers.
  if (signed && (!last || last.size <= signed.size)) return REFUSALS.seals;
  return { signed, tree: signed ?? last };
}

/** Whether the signed tree is not older than the leaf, which was created from a note. */
export function isAsLate(signed: Tree | undefined, leaf: Tree): boolean {
  if (!signed || signed.size < leaf.size) return false;
  return signed.size > leaf.size || signed.root.equals(leaf.root);
}

export type LeafRow = { position: string; leaf: Buffer };

/** An event's leaf: its position (8 bytes, big-endian) and its digest. */
export function leafOf(position: number, digest: Buffer): Buffer {
  const leaf = Buffer.alloc(8 + digest.length);
  leaf.writeBigInt64BE(BigInt(position));
  digest.copy(leaf, 8);
  return leaf;
}

/** A checkpoint's leaf: the organization's id (16 bytes), its size (8, big-endian) and its root. */
export function leafOfCheckpoint({
  organizationId,
  size,
  root,
}: Pick<SealedTree, 'organizationId'> & Tree): Buffer {
  const leaf = Buffer.alloc(24 + root.length);
  leaf.write(organizationId.replaceAll('-', ''), 'hex');
  leaf.writeBigInt64BE(BigInt(size), 16);
  root.copy(leaf, 24);
  return leaf;
}

/**
 * Appends leaves to a tree, in the order of their positions.
 *
 * @param sealed intermediate states of the tree that must be matched: the same leaves up to their positions,
 *   and no others.
 * @returns whether they were.
 */
export async function grow(
  tree: GrowingTree,
  leaves: readonly LeafRow[],
  sealed: readonly SealedTree[],
): Promise<boolean> {
  for (const { position: text, leaf } of leaves) {
    const position = Number(text);
    if (sealed.some((one) => position <= one.position !== tree.size < one.size)) return false;
    tree.append(leafHash(leaf), position);
    for (const { size, root } of sealed) {
      if (tree.size === size && !(await tree.leadsTo(root))) return false;
    }
  }
  return true;
}
