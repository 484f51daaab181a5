import { createHash } from 'node:crypto';
import { isConsistent } from './consistency.js';

/** The definitions of RFC 6962, section 2.1, as they stand there. */
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const leaves = Array.from({ length: 70 }, (_, n) => sha256(Buffer.of(0), Buffer.from(`leaf ${n}`)));
const split = (size: number) => 2 ** (Math.ceil(Math.log2(size)) - 1);

function rootOf(all: readonly Buffer[]): Buffer {
  if (all.length === 0) return sha256();
  if (all.length === 1) return all[0]!;
  const k = split(all.length);
  return sha256(Buffer.of(1), rootOf(all.slice(0, k)), rootOf(all.slice(k)));
}

function proofOf(m: number, all: readonly Buffer[], isWhole = true): Buffer[] {
  if (m === all.length) return isWhole ? [] : [rootOf(all)];
  const k = split(all.length);
  if (m <= k) return [...proofOf(m, all.slice(0, k), isWhole), rootOf(all.slice(k))];
  return [...proofOf(m - k, all.slice(k), false), rootOf(all.slice(0, k))];
}

const headOf = (size: number) => ({ size, root: rootOf(leaves.slice(0, size)) });
const heads = Array.from({ length: leaves.length + 1 }, (_, size) => headOf(size));
const pairs = heads.flatMap((newer) => heads.slice(0, newer.size + 1).map((older) => ({ older, newer })));
const proof = ({ older, newer }: (typeof pairs)[number]) =>
  older.size === 0 ? [] : proofOf(older.size, leaves.slice(0, newer.size));

it('every tree follows from every smaller one, by the proof of RFC 6962', () => {
  expect(pairs.filter((pair) => !isConsistent(pair.older, pair.newer, proof(pair)))).toEqual([]);
});

it('no other root, size or proof is taken', () => {
  const other = sha256(Buffer.from('other'));
  const taken = pairs.filter((pair) => {
    const { older, newer } = pair;
    const right = proof(pair);
    const forged: [typeof older, typeof newer, Buffer[]][] = [
      [older, { ...newer, root: other }, right],
      [{ ...older, root: other }, newer, right],
      [older, newer, [...right, other]],
      [older, newer, [other, ...right]],
      [older, newer, right.slice(1)],
      [older, newer, right.slice(0, -1)],
      ...right.map((_, n): (typeof forged)[number] => [older, newer, right.with(n, other)]),
      ...right.map((hash, n): (typeof forged)[number] => [older, newer, right.with(n, hash.subarray(1))]),
      [newer, older, right],
    ];
    return forged.some(([one, two, hashes]) => {
      const isSame = one.size === older.size && two.size === newer.size && hashes.length === right.length;
      const isRight = isSame && hashes.every((hash, n) => hash.equals(right[n]!));
      // Of no events at all everything follows.
      const saysNothing = one.size === 0 && hashes.length === 0;
      const isTheSame = isRight && one.root.equals(older.root) && two.root.equals(newer.root);
      return !isTheSame && !saysNothing && isConsistent(one, two, hashes);
    });
  });
  expect(taken).toEqual([]);
});
