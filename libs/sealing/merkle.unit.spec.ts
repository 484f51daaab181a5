import { createHash } from 'node:crypto';
import {
  consistencyPath,
  inclusionPath,
  isConsistent,
  leafHash,
  nodeHash,
  type ReadSubtree,
  rootOf,
  rootOfPath,
  rootOfSubtrees,
} from './merkle.js';
import { edgeOf, GrowingTree, readFromTiles, type Tile, tileKey } from './tiles.js';
import { longIt } from '../../test/length.js';

/** The definition of RFC 6962, literally: slow, but easy to verify. */
function definition(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return createHash('sha256').digest();
  if (leaves.length === 1) return leafHash(leaves[0]!);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(definition(leaves.slice(0, k)), definition(leaves.slice(k)));
}

const leaves = (count: number) => Array.from({ length: count }, (_, n) => Buffer.from(`leaf ${n}`));

/** A tree grown over several seals, each from what the previous one stored. */
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

it('returns the defined root at every size, however the tree was grown', async () => {
  const sizes = [0, 1, 2, 3, 7, 8, 255, 256, 257, 300, 511, 512, 513, 700];
  const { roots } = grow(sizes);
  for (const [n, size] of sizes.entries()) {
    expect((await roots[n])!.equals(definition(leaves(size)))).toBe(true);
  }
});

longIt('returns the defined root beyond 65,536 leaves, where tiles have a third level', async () => {
  const sizes = [65_535, 65_536, 65_537, 66_000];
  const { roots } = grow(sizes);
  for (const [n, size] of sizes.entries()) {
    expect((await roots[n])!.equals(definition(leaves(size)))).toBe(true);
  }
});

const flipped = (hash: Buffer) => Buffer.from(hash.map((byte, n) => (n === 0 ? byte ^ 1 : byte)));
const changes = (path: readonly Buffer[]) => [
  ...path.map((hash, n) => path.with(n, flipped(hash))),
  path.slice(1),
  path.slice(0, -1),
  [...path, Buffer.alloc(32)],
  path.toReversed(),
];

it('proves every leaf of every size, and no other leaf', async () => {
  const { read } = grow([100, 600]);
  for (const size of [1, 2, 3, 5, 64, 255, 256, 257, 599, 600]) {
    const root = definition(leaves(size));
    const leadsToRoot = (number: number, index: number, path: readonly Buffer[]) =>
      rootOfPath(leafHash(Buffer.from(`leaf ${number}`)), index, size, path)?.equals(root) ?? false;
    for (const index of new Set(
      [0, 1, Math.floor(size / 2), size - 2, size - 1].filter((n) => n >= 0 && n < size),
    )) {
      const path = await inclusionPath(index, size, read);
      expect(leadsToRoot(index, index, path)).toBe(true);
      expect([leadsToRoot(index + 1, index, path), leadsToRoot(index, size, path)]).toEqual([false, false]);
      for (const other of changes(path)) {
        if (!isSame(other, path)) expect(leadsToRoot(index, index, other)).toBe(false);
      }
    }
  }
});

const isSame = (one: readonly Buffer[], other: readonly Buffer[]) =>
  one.length === other.length && one.every((hash, n) => hash.equals(other[n]!));

it('proves that an older tree is the beginning of a newer one, and fails for another tree', async () => {
  const { read } = grow([600]);
  const treeOf = (size: number) => ({ size, root: definition(leaves(size)) });
  for (const [oldSize, size] of [
    [1, 2],
    [3, 7],
    [4, 8],
    [6, 8],
    [255, 257],
    [256, 512],
    [300, 600],
    [599, 600],
    [600, 600],
  ] as const) {
    const [older, newer] = [treeOf(oldSize), treeOf(size)];
    const path = await consistencyPath(oldSize, size, read);
    expect(isConsistent(older, newer, path)).toBe(true);
    for (const [one, other, way] of [
      [{ size: oldSize, root: flipped(older.root) }, newer, path],
      [older, { size, root: flipped(newer.root) }, path],
      [{ size: oldSize, root: newer.root }, { size, root: flipped(newer.root) }, path],
      ...changes(path)
        .filter((change) => !isSame(change, path))
        .map((change) => [older, newer, change] as const),
    ] as const) {
      expect(isConsistent(one, other, way)).toBe(false);
    }
  }
  expect(isConsistent(treeOf(8), treeOf(4), [])).toBe(false);
  expect(isConsistent(treeOf(4), treeOf(8), [])).toBe(false);
});

it('computes a root from complete subtrees', () => {
  for (const widths of [[], [1], [2, 1], [256, 256, 64, 1], [4, 2, 2, 8]]) {
    let start = 0;
    const size = widths.reduce((sum, width) => sum + width, 0);
    const all = leaves(size);
    const subtrees = widths.map((width) => ({
      leaves: width,
      hash: definition(all.slice(start, (start += width))),
    }));
    expect(rootOfSubtrees(subtrees).equals(definition(all))).toBe(true);
  }
});

it('ignores hashes in a tile after the leaves of the tree, and reports missing ones', async () => {
  const tree = new GrowingTree(0, []);
  for (const [n, leaf] of leaves(300).entries()) tree.append(leafHash(leaf), n);
  const stored = [...tree.changed.values()];
  const root = definition(leaves(270));
  const older = new GrowingTree(270, stored);
  expect(await older.leadsTo(root)).toBe(true);
  older.append(leafHash(Buffer.from('leaf 270')), 270);
  expect(await older.leadsTo(definition(leaves(271)))).toBe(true);
  expect(await new GrowingTree(301, stored).leadsTo(root)).toBe(false);
  const withoutPositions = stored.map((tile) => ({ ...tile, positions: [] }));
  expect(await new GrowingTree(270, withoutPositions).leadsTo(root)).toBe(false);
});
