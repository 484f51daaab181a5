import { createHash } from 'node:crypto';
import { consistencyPath, inclusionPath, leafHash, nodeHash, type ReadSubtree, rootOf } from './merkle.js';
import { edgeOf, GrowingTree, readFromTiles, type Tile, tileKey } from './tiles.js';

/** The definition of RFC 6962, literally: slow, and right by reading. */
function definition(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return createHash('sha256').digest();
  if (leaves.length === 1) return leafHash(leaves[0]!);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(definition(leaves.slice(0, k)), definition(leaves.slice(k)));
}

const leaves = (count: number) => Array.from({ length: count }, (_, n) => Buffer.from(`leaf ${n}`));

/** A tree grown over several seals, each from what the one before stored. */
function grow(sizes: readonly number[]): { read: ReadSubtree; roots: Promise<Buffer>[] } {
  const stored = new Map<string, Tile>();
  const copy = (tile: Tile) => ({ ...tile, hashes: [...tile.hashes], positions: [...tile.positions] });
  let size = 0;
  const roots: Promise<Buffer>[] = [];
  for (const next of sizes) {
    const edge = edgeOf(size).flatMap(({ level, index }) => stored.get(tileKey(level, index)) ?? []);
    const tree = new GrowingTree(size, edge.map(copy));
    for (; size < next; size += 1) tree.append(leafHash(Buffer.from(`leaf ${size}`)), size);
    roots.push(rootOf(tree.size, tree.read));
    for (const [key, tile] of tree.changed) stored.set(key, copy(tile));
  }
  const read = readFromTiles((level, index) => Promise.resolve(stored.get(tileKey(level, index))));
  return { read, roots };
}

it('hashes as the published test tree of Certificate Transparency does', async () => {
  const inputs = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ];
  const tree = new GrowingTree(0, []);
  inputs.forEach((hex, n) => tree.append(leafHash(Buffer.from(hex, 'hex')), n));
  expect((await rootOf(8, tree.read)).toString('hex')).toBe(
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  );
});

it('answers the defined root at every size, however the tree was grown', async () => {
  const sizes = [0, 1, 2, 3, 7, 8, 255, 256, 257, 300, 511, 512, 513, 700];
  const { roots } = grow(sizes);
  for (const [n, size] of sizes.entries()) {
    expect((await roots[n])!.equals(definition(leaves(size)))).toBe(true);
  }
});

it('answers the defined root beyond 65,536 leaves, where tiles have a third level', async () => {
  const sizes = [65_535, 65_536, 65_537, 66_000];
  const { roots } = grow(sizes);
  for (const [n, size] of sizes.entries()) {
    expect((await roots[n])!.equals(definition(leaves(size)))).toBe(true);
  }
});

/** Section 2.1.1 of RFC 9162: from the leaf and its path to the root. */
function rootFromPath(index: number, size: number, leaf: Buffer, path: readonly Buffer[]): Buffer {
  let [fn, sn, hash] = [index, size - 1, leaf];
  for (const step of path) {
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(step, hash);
      while (fn % 2 === 0 && fn > 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else {
      hash = nodeHash(hash, step);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return hash;
}

it('proves every leaf of every size', async () => {
  const { read } = grow([100, 600]);
  for (const size of [1, 2, 3, 5, 64, 255, 256, 257, 599, 600]) {
    const root = await rootOf(size, read);
    for (const index of new Set(
      [0, 1, Math.floor(size / 2), size - 2, size - 1].filter((n) => n >= 0 && n < size),
    )) {
      const path = await inclusionPath(index, size, read);
      expect(rootFromPath(index, size, leafHash(Buffer.from(`leaf ${index}`)), path).equals(root)).toBe(true);
    }
  }
});

it('proves that an older tree is the beginning of a newer one', async () => {
  const { read } = grow([600]);
  for (const [oldSize, size] of [
    [1, 2],
    [3, 7],
    [4, 8],
    [6, 8],
    [255, 257],
    [256, 512],
    [300, 600],
    [599, 600],
  ] as const) {
    const path = await consistencyPath(oldSize, size, read);
    const roots = rootsFromConsistency(oldSize, size, await rootOf(oldSize, read), path);
    expect(roots.map((root) => root.toString('hex'))).toEqual([
      (await rootOf(oldSize, read)).toString('hex'),
      (await rootOf(size, read)).toString('hex'),
    ]);
  }
});

/** Section 2.1.4.2 of RFC 9162. */
function rootsFromConsistency(
  first: number,
  second: number,
  firstRoot: Buffer,
  path: readonly Buffer[],
): Buffer[] {
  const steps = Number.isInteger(Math.log2(first)) ? [firstRoot, ...path] : [...path];
  let [fn, sn] = [first - 1, second - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  let fr = steps.shift()!;
  let sr = fr;
  for (const step of steps) {
    if (fn % 2 === 1 || fn === sn) {
      fr = nodeHash(step, fr);
      sr = nodeHash(step, sr);
      while (fn % 2 === 0 && fn > 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else {
      sr = nodeHash(sr, step);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return [fr, sr];
}
