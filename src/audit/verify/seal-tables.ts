import { type Sql } from '#libs/database';
import { areSame, type Checkpoint, HASH, Tree } from '#libs/verify';

export type SealedLeaf = { position: number; hash: Uint8Array };

/** The seals as stored in the database. */
export type Seals = {
  /** Reads `count` leaves from number `from`, which ascends from call to call. Absent if they differ from the checkpoint. */
  leaves?: (from: number, count: number) => Promise<SealedLeaf[]>;
  rows?: StoredSealRows;
  /** The problem with the tables; null if there is none. */
  mistake: string | null;
};

/** Hashes per row of seal_tiles, and the levels of the tree that a row spans. */
const TILE_WIDTH = 256;
const LEVELS_A_TILE = 8;
/** Rows per query, half a megabyte. */
const PAGE = 32;

/** Both are null where the row is missing. */
type Tile = { hashes: Buffer | null; positions: string[] | null };

export async function checkSeals(
  sql: Sql,
  checkpoint: Checkpoint,
  onLeaves: (count: number) => void,
): Promise<Seals> {
  const rows = await StoredSealRows.of(sql, checkpoint);
  const tiles = await checkTiles(sql, checkpoint, onLeaves);
  return { ...tiles, rows };
}

async function checkTiles(
  sql: Sql,
  { organizationId, size, root }: Checkpoint,
  onLeaves: (count: number) => void,
): Promise<Seals> {
  const levels: ReadTile[] = [];
  const read = (level: number) => (levels[level] ??= tilesOf(sql, organizationId, level));
  const tree = new Tree();
  let mistake: string | null = null;
  for (let index = 0, before = 0; index < size; index += 1) {
    const leaf = leafOf(await read(0)(Math.floor(index / TILE_WIDTH)), index);
    if (!leaf) return { mistake: `the table seal_tiles contains ${index} of ${size} leaves` };
    if (leaf.position <= before) mistake ??= `the positions in seal_tiles go back to ${leaf.position}`;
    before = leaf.position;
    tree.append(leaf.hash);
    // A full tile is one hash of the next level.
    for (let level = 1; level * LEVELS_A_TILE <= tree.top; level += 1) {
      const above = Math.floor(index / TILE_WIDTH ** level);
      const stored = hashAt(await read(level)(Math.floor(above / TILE_WIDTH)), above % TILE_WIDTH);
      if (!stored?.equals(tree.completed[level * LEVELS_A_TILE]!)) {
        mistake ??= `hash ${above} of level ${level} in seal_tiles does not follow from those below`;
      }
    }
    if (tree.size % TILE_WIDTH === 0) onLeaves(TILE_WIDTH);
  }
  if (!areSame(tree.root(), root)) return { mistake: 'the table seal_tiles has a different root' };
  const readTile = tilesOf(sql, organizationId, 0);
  const leaves = async (from: number, count: number) => {
    const found: SealedLeaf[] = [];
    for (let index = from; index < from + count; index += 1) {
      const leaf = leafOf(await readTile(Math.floor(index / TILE_WIDTH)), index);
      if (!leaf) break;
      found.push(leaf);
    }
    return found;
  };
  return { leaves, mistake };
}

type SealRow = { size: string; position: string; root: Buffer };

/**
 * The rows of `seals`, each compared with the tree of its size. Older rows are thinned out, so not every sealed
 * size has one.
 */
class StoredSealRows {
  private rows: SealRow[] = [];
  /** From the last compared row: no event of a larger tree has this position or a lower one. */
  private upTo = 0;

  private constructor(
    private readonly sql: Sql,
    private readonly checkpoint: Checkpoint,
    /** The size of the last seal when the check began. */
    private readonly lastSize: number,
  ) {}

  static async of(sql: Sql, checkpoint: Checkpoint): Promise<StoredSealRows> {
    const [row] = await sql.query<{ size: string | null }[]>(
      'SELECT max(size) AS size FROM seals WHERE organization_id = $1',
      [checkpoint.organizationId],
    );
    return new StoredSealRows(sql, checkpoint, Number(row!.size ?? 0));
  }

  /** Reads the seals of trees larger than `after`, up to `upTo`. */
  async read(after: number, upTo: number): Promise<void> {
    this.rows = await this.sql.query<SealRow[]>(
      'SELECT size, position, root FROM seals WHERE organization_id = $1 AND size > $2 AND size <= $3 ORDER BY size',
      [this.checkpoint.organizationId, after, upTo],
    );
  }

  /** @param position of the tree's last event. @returns what is wrong with the seal of this tree. */
  compare(tree: Tree, position: number): string | undefined {
    const tooFar = this.upTo >= position;
    if (Number(this.rows[0]?.size) !== tree.size) {
      return tooFar
        ? `the seal before ${tree.size} events claims to end at position ${this.upTo}`
        : undefined;
    }
    const row = this.rows.shift()!;
    this.upTo = Number(row.position);
    const { size, root, position: sealedUpTo } = this.checkpoint;
    const isOurs = tree.size !== size || (row.root.equals(root) && Number(row.position) === sealedUpTo);
    if (!tooFar && isOurs && this.upTo >= position && row.root.equals(tree.root())) return undefined;
    return `the row of the table seals for ${tree.size} events is wrong`;
  }

  /** @returns what is wrong with the seals beyond the history. */
  async end(events: number): Promise<string | undefined> {
    const { size } = this.checkpoint;
    if (this.lastSize < size) return `the table seals has no row for ${size} events or more`;
    if (this.lastSize > events) {
      return `the table seals has a row for ${this.lastSize} events, but the history has ${events}`;
    }
    // Sealing would continue after it and skip the events before.
    const [row] = await this.sql.query<{ last: string }[]>('SELECT last_position() AS last');
    const { last } = row!;
    return this.upTo > Number(last)
      ? `the table seals ends at position ${this.upTo}, but the last position ever allocated is ${last}`
      : undefined;
  }
}

type ReadTile = (index: number) => Promise<Tile | undefined>;

/** Reads the tiles of one level from left to right. */
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

function leafOf(tile: Tile | undefined, index: number): SealedLeaf | undefined {
  const hash = hashAt(tile, index % TILE_WIDTH);
  const position = Number(tile?.positions?.[index % TILE_WIDTH] ?? NaN);
  return hash && Number.isSafeInteger(position) ? { position, hash } : undefined;
}

function hashAt(tile: Tile | undefined, place: number): Buffer | undefined {
  const hash = tile?.hashes?.subarray(place * HASH, (place + 1) * HASH);
  return hash?.length === HASH ? hash : undefined;
}
