import { type Sql } from '#libs/database';
import { type Checkpoint } from './checkpoint.js';
import { Tree } from './tree.js';

/** Hashes a row of seal_tiles, and the levels of the tree that a row spans. */
const TILE_WIDTH = 256;
const LEVELS_A_TILE = 8;
const HASH = 32;
/** Rows read at once, half a megabyte. */
const PAGE = 32;

/** Both are null where the row is missing. */
type Tile = { hashes: Buffer | null; positions: string[] | null };

/** A leaf as it was sealed. */
export type SealedLeaf = { position: number; hash: Buffer };
/** Reads the leaf with this number, from 0, in ascending order; undefined if it is not there. */
export type ReadLeaf = (index: number) => Promise<SealedLeaf | undefined>;

/** What the database keeps of its seals. */
export type Seals = {
  /** The leaves that the checkpoint was made of; undefined where those stored are others. */
  leaves?: ReadLeaf;
  /** What is wrong with the tables; null if nothing is. */
  mistake: string | null;
};

/** Looks whether the tables of the seals lead to the checkpoint. */
export async function checkSeals(
  sql: Sql,
  { organizationId, size, root, position }: Checkpoint,
  onLeaf: () => void,
): Promise<Seals> {
  const levels: ReadTile[] = [];
  const read = (level: number) => (levels[level] ??= tilesOf(sql, organizationId, level));
  const tree = new Tree();
  let mistake: string | null = null;
  for (let index = 0, before = 0; index < size; index += 1) {
    const leaf = await leafAt(read(0), index);
    if (!leaf) return { mistake: `the table seal_tiles has ${index} of its ${size} leaves` };
    if (leaf.position <= before) mistake ??= `the positions in seal_tiles go back to ${leaf.position}`;
    before = leaf.position;
    const completed = tree.append(leaf.hash);
    // A full tile is one hash of the level above.
    for (let level = 1; level * LEVELS_A_TILE < completed.length; level += 1) {
      const above = Math.floor(index / TILE_WIDTH ** level);
      const stored = hashAt(await read(level)(Math.floor(above / TILE_WIDTH)), above % TILE_WIDTH);
      if (!stored?.equals(completed[level * LEVELS_A_TILE]!)) {
        mistake ??= `hash ${above} of level ${level} in seal_tiles does not follow from those below`;
      }
    }
    onLeaf();
  }
  if (!tree.root().equals(root)) return { mistake: 'the table seal_tiles has another root' };

  if (size === 0) return { mistake };
  const [seal] = await sql.query<{ root: Buffer; position: string }[]>(
    'SELECT root, position FROM seals WHERE organization_id = $1 AND size = $2',
    [organizationId, size],
  );
  if (!seal) mistake ??= `the table seals has no seal of ${size} events`;
  else if (!seal.root.equals(root) || Number(seal.position) !== position) {
    mistake ??= `the table seals says something else of the seal of ${size} events`;
  }
  const leaves = tilesOf(sql, organizationId, 0);
  return { leaves: (index) => leafAt(leaves, index), mistake };
}

type ReadTile = (index: number) => Promise<Tile | undefined>;

/** The tiles of one level, for whoever reads them from the left. */
function tilesOf(sql: Sql, organizationId: string, level: number): ReadTile {
  let first = 0;
  let tiles: (Tile | undefined)[] = [];
  return async (index) => {
    if (index < first || index >= first + tiles.length) {
      first = index;
      tiles = await sql.query<Tile[]>(
        `SELECT t.hashes, t.positions FROM generate_series($3::bigint, $3::bigint + $4 - 1) AS n
         LEFT JOIN seal_tiles t ON t.organization_id = $1 AND t.level = $2 AND t.index = n ORDER BY n`,
        [organizationId, level, index, PAGE],
      );
    }
    return tiles[index - first];
  };
}

async function leafAt(read: ReadTile, index: number): Promise<SealedLeaf | undefined> {
  const tile = await read(Math.floor(index / TILE_WIDTH));
  const hash = hashAt(tile, index % TILE_WIDTH);
  const position = Number(tile?.positions?.[index % TILE_WIDTH] ?? NaN);
  return hash && Number.isSafeInteger(position) ? { position, hash } : undefined;
}

function hashAt(tile: Tile | undefined, place: number): Buffer | undefined {
  const hash = tile?.hashes?.subarray(place * HASH, (place + 1) * HASH);
  return hash?.length === HASH ? hash : undefined;
}
