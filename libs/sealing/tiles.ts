import { nodeHash, type ReadSubtree, rootOf } from './merkle.js';

/** Hashes per tile. A tile of level L contains the roots of subtrees of 256^L leaves. */
export const TILE_WIDTH = 256;
const LEVELS_A_TILE = 8;

/** A row of tiles. `positions`: those of the events at level 0; empty at other levels. */
export type Tile = { level: number; index: number; hashes: Buffer[]; positions: number[] };

export function tileKey(level: number, index: number): string {
  return `${level}/${index}`;
}

function widthOf(size: number, level: number): number {
  return Math.floor(size / TILE_WIDTH ** level) % TILE_WIDTH;
}

/** The tiles at the right edge of a tree, which the next leaf changes, from level 0 upwards. */
export function edgeOf(size: number): { level: number; index: number }[] {
  const edge: { level: number; index: number }[] = [];
  for (
    let level = 0, count = size;
    level === 0 || count > 0;
    level += 1, count = Math.floor(count / TILE_WIDTH)
  ) {
    edge.push({ level, index: Math.floor(count / TILE_WIDTH) });
  }
  return edge;
}

/** A tree that grows. It stores its right edge and records which tiles have changed. */
export class GrowingTree {
  readonly changed = new Map<string, Tile>();
  private readonly edge: Tile[] = [];

  /**
   * @param edge the stored tiles of {@link edgeOf}. Tiles that are still empty may be missing. Hashes after the
   *   first `size` leaves are ignored, because they are not part of the tree.
   */
  constructor(
    public size: number,
    edge: readonly Tile[],
  ) {
    for (const { level, index } of edgeOf(size)) {
      const { hashes, positions } = edge.find((tile) => tile.level === level && tile.index === index) ?? {
        hashes: [],
        positions: [],
      };
      const width = widthOf(size, level);
      this.edge[level] = {
        level,
        index,
        hashes: hashes.slice(0, width),
        positions: positions.slice(0, width),
      };
    }
  }

  /**
   * Whether the tree has this root: its edge is complete and leads to it. Then every hash of the edge is right,
   * because the root depends on all of them.
   */
  async leadsTo(root: Buffer): Promise<boolean> {
    const isWhole =
      this.edge.every(({ hashes }, level) => hashes.length === widthOf(this.size, level)) &&
      this.edge[0]!.positions.length === this.edge[0]!.hashes.length;
    return isWhole && (await rootOf(this.size, this.read)).equals(root);
  }

  append(leaf: Buffer, position: number): void {
    this.size += 1;
    this.edge[0]!.positions.push(position);
    this.push(0, leaf);
  }

  private push(level: number, hash: Buffer): void {
    const tile = (this.edge[level] ??= { level, index: 0, hashes: [], positions: [] });
    tile.hashes.push(hash);
    this.changed.set(tileKey(level, tile.index), tile);
    if (tile.hashes.length < TILE_WIDTH) return;
    this.edge[level] = { level, index: tile.index + 1, hashes: [], positions: [] };
    this.push(level + 1, combine(tile.hashes));
  }

  /** Reads the subtrees that make up the root of the current size. They are all at the edge. */
  readonly read: ReadSubtree = readFromTiles((level, index) => {
    const edge = this.edge[level];
    return Promise.resolve(edge?.index === index ? edge : undefined);
  });
}

/** A tile is missing or too short. */
export class TileMissing extends Error {}

/** Reads subtrees from tiles. @throws TileMissing */
export function readFromTiles(
  find: (level: number, index: number) => Promise<Tile | undefined>,
): ReadSubtree {
  return async (level, index) => {
    const tileLevel = Math.floor(level / LEVELS_A_TILE);
    const width = 2 ** (level % LEVELS_A_TILE);
    const first = index * width;
    const tile = await find(tileLevel, Math.floor(first / TILE_WIDTH));
    const start = first % TILE_WIDTH;
    const hashes = tile?.hashes.slice(start, start + width) ?? [];
    if (hashes.length < width) throw new TileMissing(`The tree lacks subtree ${index} of level ${level}.`);
    return combine(hashes);
  };
}

/** The root over 2^n hashes. */
export function combine(hashes: readonly Buffer[]): Buffer {
  let row = hashes;
  while (row.length > 1) {
    const above: Buffer[] = [];
    for (let n = 0; n < row.length; n += 2) above.push(nodeHash(row[n]!, row[n + 1]!));
    row = above;
  }
  return row[0]!;
}
