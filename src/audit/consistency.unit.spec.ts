import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isLong } from '../../test/length.js';
import { type Batch, leafHash } from '#libs/verify';
import { compareByEvents, compareBySubtrees, type ReadSubtree } from './compare.js';
import { claimsOf, contradictionOf, isConsistent } from './consistency.js';

/** The definitions of RFC 6962, section 2.1, literally. */
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const leaves = Array.from({ length: isLong ? 70 : 35 }, (_, n) =>
  sha256(Buffer.of(0), Buffer.from(`leaf ${n}`)),
);
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

it('every tree is proved consistent with every smaller one, as in RFC 6962', () => {
  expect(pairs.filter((pair) => !isConsistent(pair.older, pair.newer, proof(pair)))).toEqual([]);
});

it('no other root, size or proof is accepted', () => {
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
      // Every tree follows from an empty one.
      const saysNothing = one.size === 0 && hashes.length === 0;
      const isTheSame = isRight && one.root.equals(older.root) && two.root.equals(newer.root);
      return !isTheSame && !saysNothing && isConsistent(one, two, hashes);
    });
  });
  expect(taken).toEqual([]);
});

describe('comparison of two trees', () => {
  const other = sha256(Buffer.from('other'));
  const subtreesOf =
    (all: readonly Buffer[]): ReadSubtree =>
    (level, index) =>
      Promise.resolve(rootOf(all.slice(index * 2 ** level, (index + 1) * 2 ** level)));

  it('by subtrees: one grew, one forked, or nothing is proved', async () => {
    for (const { older, newer } of pairs.filter(({ newer }) => newer.size < (isLong ? 36 : 19))) {
      const compare = (one: typeof older, two: typeof newer, all = leaves) =>
        compareBySubtrees(one, two, subtreesOf(all));
      expect(await compare(older, newer)).toBe('grew');
      expect(await compare({ ...older, root: other }, newer)).toBe('forked');
      expect(await compare(older, { ...newer, root: other })).toBe('unproved');
      const forked = leaves.with(Math.floor(older.size / 2), other);
      if (newer.size > older.size / 2) expect(await compare(older, newer, forked)).toBe('unproved');
    }
  });

  it('by events: the same results, and problems with the events themselves', async () => {
    const events = (count: number, mistake: string | null = null, fork?: number): Batch => {
      const digestOf = (n: number) => sha256(Buffer.from(n === fork ? 'fork' : String(n))).toString('hex');
      const streamId = '00000000-0000-0000-0000-000000000000';
      const event = { streamId, subjectId: null, type: 'Any', time: 0, personal: null };
      return {
        events: Array.from({ length: count }, (_, n) => {
          return { ...event, position: n + 1, version: n + 1, digest: digestOf(n + 1) };
        }),
        mistake:
          mistake === null ? undefined : { position: count + 1, code: 'digest' as const, reason: mistake },
      };
    };
    const pieces = (...batches: Batch[]) => Readable.from(batches);
    const head = (size: number, fork?: number) => {
      const hashes = events(size, null, fork).events.map((one) =>
        Buffer.from(leafHash(one.position, one.digest)),
      );
      return { size, root: rootOf(hashes) };
    };
    const compare = (older: number, newer: number, ...batches: Batch[]) =>
      compareByEvents(head(older), head(newer), pieces(...batches));
    expect(await compare(0, 0)).toEqual({ outcome: 'grew' });
    expect(await compare(3, 7, events(9, 'Line 10 is not JSON.'))).toEqual({ outcome: 'grew' });
    expect(await compare(3, 7, events(7, null, 2))).toEqual({ outcome: 'unproved' });
    expect(await compare(3, 7, events(5))).toEqual({
      outcome: 'unproved',
      mistake: 'It has 5 of the 7 events.',
    });
    expect(await compare(3, 7, events(5, 'Line 6 is not JSON.'))).toEqual({
      ...{ outcome: 'unproved', mistake: 'Line 6 is not JSON.' },
    });
    expect(await compareByEvents(head(3, 2), head(7), pieces(events(7)))).toEqual({ outcome: 'forked' });
    expect(await compareByEvents(head(7, 2), head(7), pieces(events(7)))).toEqual({ outcome: 'forked' });
  });
});

describe('the vectors that other implementations run', () => {
  const file = join(__dirname, '../../docs/spec/history-format.json');
  const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
    roots: { size: number; root: string }[];
    consistency: { older: number; newer: number; path: string[] }[];
    contradictions: { name: string; older: string; newer: string; contradict: boolean }[];
  };
  const bytesOf = (base64: string) => Buffer.from(base64, 'base64');
  const headAt = (size: number) => {
    return { size, root: bytesOf(vectors.roots.find((one) => one.size === size)!.root) };
  };

  it('consistency paths lead from each older root to the newer one, and to no other', () => {
    for (const { older, newer, path } of vectors.consistency) {
      const [before, after, hashes] = [headAt(older), headAt(newer), path.map(bytesOf)];
      expect(isConsistent(before, after, hashes)).toBe(true);
      expect(isConsistent(before, { ...after, root: sha256() }, hashes)).toBe(false);
    }
  });

  it.each(vectors.contradictions)(
    'two checkpoints contradict each other, or not: $name',
    ({ older, newer, contradict }) => {
      expect(contradictionOf(claimsOf(older)!, claimsOf(newer)!) !== undefined).toBe(contradict);
    },
  );
});
