import { type Sql } from '#libs/database';
import { type Tree } from './merkle.js';
import { ALL_ORGANIZATIONS, type SealedTree } from './note.js';
import { edgeOf, type Tile } from './tiles.js';

const HASH = 32;

/** An organization's tree as stored, without its tiles. Nothing of it is trusted before it has been checked. */
export type StoredTree = {
  organizationId: string;
  note: string | null;
  /** Why the organization is quarantined; null if it is not. */
  refused: string | null;
  /** The last seal. `kept`: the next seal does not replace it. */
  last: (SealedTree & { kept: boolean }) | undefined;
  /** Its newest leaf in the log of all organizations. */
  leaf: Tree | undefined;
};

type StoredRow = {
  organization_id: string;
  note: string | null;
  refused: string | null;
  size: string | null;
  position: string;
  root: Buffer;
  sealed_at: Date;
  kept: boolean;
  leaf_size: string | null;
  leaf_root: Buffer;
};

/** Exported so that a test can EXPLAIN it, because an organization may have a million seals. */
export const STORED_TREES = `
  SELECT o.organization_id, n.note, n.refused, last.size, last.position, last.root, last.sealed_at, last.kept,
         leaf.size AS leaf_size, leaf.root AS leaf_root
  FROM unnest($1::uuid[]) AS o(organization_id)
  LEFT JOIN signed_notes n ON n.organization_id = o.organization_id
  LEFT JOIN LATERAL (
    SELECT s.size, s.position, s.root, s.sealed_at, s.kept FROM seals s
    WHERE s.organization_id = o.organization_id ORDER BY s.size DESC LIMIT 1
  ) last ON true
  LEFT JOIN LATERAL (
    SELECT l.size, l.root FROM checkpoint_leaves l
    WHERE l.organization_id = o.organization_id ORDER BY l.size DESC LIMIT 1
  ) leaf ON true`;

export async function readStoredTrees(sql: Sql, organizationIds: readonly string[]): Promise<StoredTree[]> {
  const rows = await sql.query<StoredRow[]>(STORED_TREES, [organizationIds]);
  return rows.map(({ organization_id: organizationId, note, refused, size, root, kept, ...row }) => ({
    organizationId,
    note,
    refused,
    last:
      size === null
        ? undefined
        : {
            organizationId,
            ...{ size: Number(size), root, kept },
            ...{ position: Number(row.position), sealedAt: row.sealed_at },
          },
    leaf: row.leaf_size === null ? undefined : { size: Number(row.leaf_size), root: row.leaf_root },
  }));
}

/** The position that sealing has reached, for organizations or for the log of all. */
export async function reachOf(sql: Sql, organizationId: string): Promise<number> {
  const [row] = await sql.query<{ position: string }[]>(
    organizationId === ALL_ORGANIZATIONS
      ? 'SELECT coalesce(max(position), 0) AS position FROM checkpoint_leaves'
      : 'SELECT position FROM sealing',
  );
  return Number(row!.position);
}

type TileRow = { organization_id: string; level: number; index: string; hashes: Buffer; positions: string[] };

/** The stored tiles at the right edges of trees of these sizes. */
export async function readEdges(
  sql: Sql,
  trees: readonly Pick<SealedTree, 'organizationId' | 'size'>[],
): Promise<Map<string, Tile[]>> {
  const edges = trees.flatMap(({ organizationId, size }) =>
    edgeOf(size).map((tile) => ({ organizationId, ...tile })),
  );
  const rows = await sql.query<TileRow[]>(
    `SELECT t.* FROM unnest($1::uuid[], $2::int[], $3::bigint[]) AS e(organization_id, level, index)
     JOIN seal_tiles t USING (organization_id, level, index)`,
    [
      edges.map(({ organizationId }) => organizationId),
      edges.map(({ level }) => level),
      edges.map(({ index }) => index),
    ],
  );
  const tiles = new Map<string, Tile[]>(trees.map(({ organizationId }) => [organizationId, []]));
  for (const row of rows) tiles.get(row.organization_id)!.push(tileOf(row));
  return tiles;
}

export async function readTile(
  sql: Sql,
  organizationId: string,
  level: number,
  index: number,
): Promise<Tile | undefined> {
  const [row] = await sql.query<TileRow[]>(
    'SELECT * FROM seal_tiles WHERE organization_id = $1 AND level = $2 AND index = $3',
    [organizationId, level, index],
  );
  return row && tileOf(row);
}

/** Writes the tiles that differ from the stored ones. */
export async function writeTiles(
  sql: Sql,
  tiles: readonly (readonly [organizationId: string, tile: Tile])[],
): Promise<void> {
  if (tiles.length === 0) return;
  // Positions are sent as text, because PostgreSQL has no arrays of arrays with different lengths.
  await sql.query(
    `INSERT INTO seal_tiles AS stored (organization_id, level, index, hashes, positions)
     SELECT organization_id, level, index, hashes, positions::bigint[]
     FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bytea[], $5::text[])
       AS tile(organization_id, level, index, hashes, positions)
     ON CONFLICT (organization_id, level, index) DO UPDATE
     SET hashes = excluded.hashes, positions = excluded.positions
     WHERE (stored.hashes, stored.positions) IS DISTINCT FROM (excluded.hashes, excluded.positions)`,
    [
      tiles.map(([organizationId]) => organizationId),
      tiles.map(([, { level }]) => level),
      tiles.map(([, { index }]) => index),
      tiles.map(([, { hashes }]) => Buffer.concat(hashes)),
      tiles.map(([, { positions }]) => `{${positions.join(',')}}`),
    ],
  );
}

/**
 * The leaf with this position. Exported so that a test can EXPLAIN it, because a history may have a million
 * tiles.
 */
export const LEAF_AT = `
  SELECT t.index, array_position(t.positions, $2::bigint) AS place FROM (
    SELECT index, positions FROM seal_tiles
    WHERE organization_id = $1 AND level = 0 AND positions[1] <= $2 ORDER BY positions[1] DESC LIMIT 1
  ) t`;

/** The same for many positions, in their order. */
export const LEAVES_AT = `
  SELECT t.index, array_position(t.positions, p.position) AS place
  FROM unnest($2::bigint[]) WITH ORDINALITY AS p(position, n)
  LEFT JOIN LATERAL (
    SELECT index, positions FROM seal_tiles
    WHERE organization_id = $1 AND level = 0 AND positions[1] <= p.position ORDER BY positions[1] DESC LIMIT 1
  ) t ON true ORDER BY p.n`;

/**
 * Complete subtrees from the left. A tile of level 2 contains roots of 65,536 leaves each, and one of level 1
 * of 256 each. The positions are in the tiles of level 0. Missing tiles are left out.
 */
export const PARTS = `
  SELECT first.positions[1] AS first_position, last.positions[256] AS last_position, part.leaves, part.hash
  FROM (
    SELECT n * 256 AS first_tile, n * 256 + 255 AS last_tile, 65536 AS leaves,
           substring(t.hashes FROM (n % 256)::int * 32 + 1 FOR 32) AS hash
    FROM generate_series(0, $2::bigint - 1) AS n
    JOIN seal_tiles t ON t.organization_id = $1 AND t.level = 2 AND t.index = n / 256
    UNION ALL
    SELECT n, n, 256, substring(t.hashes FROM (n % 256)::int * 32 + 1 FOR 32)
    FROM generate_series($2::bigint * 256, $3::bigint - 1) AS n
    JOIN seal_tiles t ON t.organization_id = $1 AND t.level = 1 AND t.index = n / 256
  ) part
  JOIN seal_tiles first ON first.organization_id = $1 AND first.level = 0 AND first.index = part.first_tile
  JOIN seal_tiles last ON last.organization_id = $1 AND last.level = 0 AND last.index = part.last_tile
  ORDER BY part.first_tile`;

function tileOf({ level, index, hashes, positions }: TileRow): Tile {
  return {
    level,
    index: Number(index),
    hashes: Array.from({ length: hashes.length / HASH }, (_, n) => hashes.subarray(n * HASH, (n + 1) * HASH)),
    positions: positions.map(Number),
  };
}
