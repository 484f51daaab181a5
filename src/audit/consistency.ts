import { ALL, areSame, type Checkpoint, HASH, hashOf, nodeHash, timeOf, wholeNumber } from '#libs/verify';

/** The noun for a checkpoint's leaves in messages. */
export function leavesOf({ organizationId }: Pick<Checkpoint, 'organizationId'>): string {
  return organizationId === ALL.name ? 'checkpoints' : 'events';
}

/** The tree that a checkpoint describes. */
export type TreeHead = { size: number; root: Uint8Array };

/**
 * Parses the first three lines of a checkpoint, regardless of its signatures. Undefined if they are malformed.
 */
export function headOf(checkpoint: string): (TreeHead & { origin: string }) | undefined {
  const [origin = '', size = '', root = ''] = checkpoint.split('\n', 3);
  const parsed = { size: wholeNumber(size), root: hashOf(root) };
  if (origin === '' || parsed.size === undefined || !parsed.root) return undefined;
  return { origin, size: parsed.size, root: parsed.root };
}

/** The claims of a checkpoint about its tree, other than the root. `sealedAt`: RFC 3339 in UTC with milliseconds, so that it sorts. */
export type Claims = Pick<TreeHead, 'size'> & { position: number; sealedAt: string };

/** How far a server's clock may be ahead of the reader's. */
const MOST_AHEAD_MS = 60_000;

/** @param now the reader's time, in milliseconds since 1970. */
export function isAhead({ sealedAt }: Pick<Claims, 'sealedAt'>, now: number): boolean {
  return Date.parse(sealedAt) > now + MOST_AHEAD_MS;
}

/** Parses the extension lines, regardless of signatures. Undefined for the checkpoints of other kinds of logs. */
export function claimsOf(checkpoint: string): Claims | undefined {
  const [, size = '', , fourth = '', fifth = ''] = checkpoint.split('\n', 5);
  const position = wholeNumber(/^position (\S+)$/.exec(fourth)?.[1]);
  const sealedAt = /^sealed (\S+)$/.exec(fifth)?.[1];
  if (position === undefined || sealedAt === undefined || timeOf(sealedAt) === undefined) return undefined;
  return { size: Number(size), position, sealedAt };
}

/**
 * How the claims of two checkpoints of one log contradict each other although their trees are consistent; undefined if they
 * do not. A tree is sealed only once. A tree that has grown reaches a later position, and is not sealed earlier.
 */
export function contradictionOf(older: Claims, newer: Claims): string | undefined {
  const isSame = older.size === newer.size;
  if (isSame ? older.position !== newer.position : older.position >= newer.position) {
    return `the position of ${older.size} leaves is ${older.position}, and of ${newer.size} leaves ${newer.position}`;
  }
  if (isSame ? older.sealedAt !== newer.sealedAt : older.sealedAt > newer.sealedAt) {
    return `the server dates ${older.size} leaves ${older.sealedAt}, and ${newer.size} leaves ${newer.sealedAt}`;
  }
  return undefined;
}

/**
 * Whether the proof shows that the newer tree is the older one with leaves appended (RFC 9162, section 2.1.4.2;
 * RFC 6962 has the same algorithm). Supports sizes up to 2^53.
 */
export function isConsistent(older: TreeHead, newer: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (older.size > newer.size || proof.some(({ length }) => length !== HASH)) return false;
  if (older.size === newer.size) return proof.length === 0 && areSame(older.root, newer.root);
  if (older.size === 0) return proof.length === 0;

  // The path from the right edge of the older tree to the root of the newer one. A complete subtree needs no
  // proof.
  const [begin, ...path] = isPowerOfTwo(older.size) ? [older.root, ...proof] : proof;
  if (!begin) return false;
  let [first, last] = [older.size - 1, newer.size - 1];
  while (first % 2 === 1) [first, last] = [half(first), half(last)];
  let [old, now] = [begin, begin];
  const isWhole = climb(first, last, path, (hash, isLeft) => {
    if (isLeft) old = nodeHash(hash, old);
    now = isLeft ? nodeHash(hash, now) : nodeHash(now, hash);
  });
  return isWhole && areSame(old, older.root) && areSame(now, newer.root);
}

/**
 * Climbs from node `first` of a level whose last node is `last`. @param join adds the hash to its left or right.
 * @returns whether the path ends at the root.
 */
function climb(
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

const half = (number: number) => Math.floor(number / 2);

function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size)) && 2 ** Math.log2(size) === size;
}
