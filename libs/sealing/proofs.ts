import { type Sql } from '#libs/database';
import { leafOf } from './growth.js';
import {
  consistencyPath,
  inclusionPath,
  isConsistent,
  leafHash,
  type ReadSubtree,
  rootOf,
  rootOfPath,
  rootOfSubtrees,
} from './merkle.js';
import { type SealedTree } from './note.js';
import { type SignedTree } from './signers.js';
import { LEAF_AT, LEAVES_AT, PARTS, readTile } from './stored-trees.js';
import { combine, readFromTiles, type Tile, TILE_WIDTH } from './tiles.js';

export type Proof = {
  /** The number of the leaf, from 0. */
  index: number;
  /** From the leaf to the root (RFC 6962, section 2.1.1). */
  path: Buffer[];
  checkpoint: SignedTree;
};

/** Formats a self-contained proof (C2SP tlog-proof). */
export function writeProof({
  index,
  path,
  checkpoint,
}: Omit<Proof, 'checkpoint'> & { checkpoint: Pick<SignedTree, 'note'> }): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes}\n${checkpoint.note}`;
}

/**
 * Proves by the stored tiles that a leaf has this number in the checkpoint's tree.
 *
 * @returns undefined if the tiles do not lead to the checkpoint.
 * @throws TileMissing if tiles are missing.
 */
export async function proveInclusion(
  sql: Sql,
  checkpoint: SignedTree,
  leaf: Buffer,
  index: number,
): Promise<Proof | undefined> {
  const { organizationId, size, root } = checkpoint;
  if (index >= size) return undefined;
  const path = await inclusionPath(index, size, readerOf(sql, organizationId));
  const found = rootOfPath(leafHash(leaf), index, size, path);
  return found?.equals(root) ? { index, path, checkpoint } : undefined;
}

/** Proves in the same way that the first `size` leaves are a prefix of the checkpoint's tree. */
export async function proveConsistency(
  sql: Sql,
  checkpoint: SealedTree,
  size: number,
): Promise<Buffer[] | undefined> {
  const read = readerOf(sql, checkpoint.organizationId);
  const path = await consistencyPath(size, checkpoint.size, read);
  const older = { size, root: await rootOf(size, read) };
  return isConsistent(older, checkpoint, path) ? path : undefined;
}

/** See `Checkpoints.parts`. Undefined if the stored tiles do not lead to the checkpoint. */
export async function readParts(sql: Sql, checkpoint: SealedTree): Promise<string | undefined> {
  const subtrees = await readSubtrees(sql, checkpoint);
  if (!rootOfSubtrees(subtrees).equals(checkpoint.root)) return undefined;
  return subtrees
    .map(
      ({ firstPosition, lastPosition, leaves, hash }) =>
        `${firstPosition} ${lastPosition} ${leaves} ${hash.toString('base64')}\n`,
    )
    .join('');
}

/** The first `width` hashes of a tile; undefined if it has fewer. */
export async function readHashes(
  sql: Sql,
  organizationId: string,
  level: number,
  index: number,
  width: number,
): Promise<Buffer | undefined> {
  const tile = await readTile(sql, organizationId, level, index);
  return tile && tile.hashes.length >= width ? Buffer.concat(tile.hashes.slice(0, width)) : undefined;
}

/** The leaves whose hashes are the first ones of a tile at level 0. */
export async function readLeaves(
  sql: Sql,
  organizationId: string,
  index: number,
  width: number,
): Promise<Buffer[] | undefined> {
  const tile = await readTile(sql, organizationId, 0, index);
  const rows = await sql.query<{ position: string; digest: Buffer }[]>(
    `SELECT position, digest FROM events WHERE organization_id = $1 AND position = ANY ($2::bigint[])
     ORDER BY position`,
    [organizationId, tile?.positions.slice(0, width) ?? []],
  );
  const leaves = rows.map(({ position, digest }) => leafOf(Number(position), digest));
  const areSealed = leaves.every((leaf, n) => leafHash(leaf).equals(tile!.hashes[n]!));
  return leaves.length === width && areSealed ? leaves : undefined;
}

export async function indexOf(
  sql: Sql,
  organizationId: string,
  position: number,
): Promise<number | undefined> {
  const [row] = await sql.query<{ index: string; place: number | null }[]>(LEAF_AT, [
    organizationId,
    position,
  ]);
  return row?.place ? Number(row.index) * TILE_WIDTH + row.place - 1 : undefined;
}

/**
 * The complete subtrees over the leaves from `start` to before `end`, from the left. They replace these leaves in a text that
 * still leads to the root.
 */
export async function* subtreesBetween(
  read: ReadSubtree,
  start: number,
  end: number,
): AsyncGenerator<{ leaves: number; hash: Buffer }> {
  for (let leaf = start; leaf < end;) {
    let level = 0;
    while (leaf % 2 ** (level + 1) === 0 && leaf + 2 ** (level + 1) <= end) level += 1;
    yield { leaves: 2 ** level, hash: await read(level, leaf / 2 ** level) };
    leaf += 2 ** level;
  }
}

/** The numbers of the leaves for the events at these positions, in this order. */
export async function indexesOf(
  sql: Sql,
  organizationId: string,
  positions: readonly number[],
): Promise<(number | undefined)[]> {
  const rows = await sql.query<{ index: string | null; place: number | null }[]>(LEAVES_AT, [
    organizationId,
    positions,
  ]);
  return rows.map(({ index, place }) => (place ? Number(index) * TILE_WIDTH + place - 1 : undefined));
}

/** A complete subtree with the positions of its first and last leaf. */
type Subtree = { firstPosition: number; lastPosition: number; leaves: number; hash: Buffer };

async function readSubtrees(sql: Sql, { organizationId, size }: SealedTree): Promise<Subtree[]> {
  const whole = Math.floor(size / TILE_WIDTH);
  const rows = await sql.query<
    { first_position: string; last_position: string; leaves: number; hash: Buffer }[]
  >(PARTS, [organizationId, Math.floor(whole / TILE_WIDTH), whole]);
  const parts = rows.map(({ first_position, last_position, leaves, hash }) => ({
    firstPosition: Number(first_position),
    lastPosition: Number(last_position),
    leaves,
    hash,
  }));
  const rest = await readTile(sql, organizationId, 0, whole);
  return [...parts, ...(rest ? subtreesOf(rest, size % TILE_WIDTH) : [])];
}

/** The complete subtrees of a tile's first leaves. */
function subtreesOf({ hashes, positions }: Tile, count: number): Subtree[] {
  if (hashes.length < count || positions.length < count) return [];
  const parts: Subtree[] = [];
  for (let first = 0, leaves = TILE_WIDTH; first < count; first += leaves) {
    while (leaves > count - first) leaves /= 2;
    parts.push({
      firstPosition: positions[first]!,
      lastPosition: positions[first + leaves - 1]!,
      leaves,
      hash: combine(hashes.slice(first, first + leaves)),
    });
  }
  return parts;
}

/** Reads subtrees from left to right, with one tile of each level in memory. */
export function orderedReaderOf(sql: Sql, organizationId: string): ReadSubtree {
  const last: { index: number; tile: Promise<Tile | undefined> }[] = [];
  return readFromTiles((level, index) => {
    if (last[level]?.index !== index)
      last[level] = { index, tile: readTile(sql, organizationId, level, index) };
    return last[level].tile;
  });
}

function readerOf(sql: Sql, organizationId: string): ReadSubtree {
  const tiles = new Map<string, Promise<Tile | undefined>>();
  return readFromTiles((level, index) => {
    const key = `${level}/${index}`;
    let tile = tiles.get(key);
    if (!tile) tiles.set(key, (tile = readTile(sql, organizationId, level, index)));
    return tile;
  });
}
