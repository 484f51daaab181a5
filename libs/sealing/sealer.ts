import { type LoggerService } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { describeError, inTransaction, Lease, type Sql, type TroubleLog } from '#libs/database';
import { consistencyPath, inclusionPath, leafHash, type ReadSubtree, rootOf } from './merkle.js';
import { type Part, type SealedTree } from './note.js';
import { edgeOf, GrowingTree, readFromTiles, type Tile, TILE_WIDTH } from './tiles.js';

/** A block ends after so long, or after so many events. */
const SEAL_EVERY_MS = 3_000;
const LARGEST_BLOCK = 10_000;
const HASH = 32;

type TileRow = { organization_id: string; level: number; index: string; hashes: Buffer; positions: string[] };
type SealRow = { organization_id: string; size: string; position: string; root: Buffer; sealed_at: Date };

/**
 * Closes blocks over the log: the events of each organization become leaves of its Merkle tree, and the
 * tree's root is kept. The row of `sealing` is the lease: whoever holds its lock seals, on any instance.
 */
export class Sealer {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private readonly lease: Lease;

  constructor(
    private readonly source: DataSource,
    private readonly logger: Pick<LoggerService, 'warn'>,
    private readonly troubles?: TroubleLog,
  ) {
    this.lease = new Lease('sealing', source);
  }

  /** Starts to seal in the background. */
  start(): void {
    this.running = this.sealUntilStopped();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /**
   * Seals everything up to the horizon of now.
   *
   * @param ifFree leave it to whoever seals at this moment, instead of waiting for them.
   */
  async seal({ ifFree = false } = {}): Promise<void> {
    while ((await this.sealBlock(ifFree)) === LARGEST_BLOCK);
  }

  /** How far sealing is, of all instances together, and the last position given out so far. */
  async progress(sql: Sql = this.source): Promise<{ sealed: number; last: number }> {
    const [row] = await sql.query<{ sealed: string; last: string }[]>(
      'SELECT (SELECT position FROM sealing) AS sealed, last_position() AS last',
    );
    return { sealed: Number(row!.sealed), last: Number(row!.last) };
  }

  /** The last seal of an organization; undefined before its first. */
  async last(organizationId: string): Promise<SealedTree | undefined> {
    const [row] = await this.source.query<SealRow[]>(
      'SELECT * FROM seals WHERE organization_id = $1 ORDER BY size DESC LIMIT 1',
      [organizationId],
    );
    if (!row) return undefined;
    const size = Number(row.size);
    return {
      organizationId,
      size,
      root: row.root,
      position: Number(row.position),
      sealedAt: row.sealed_at,
      parts: await this.partsOf(organizationId, size),
    };
  }

  /** Subtrees of 65,536 leaves, then of 256: a hundred lines for a million events. */
  private async partsOf(organizationId: string, size: number): Promise<Part[]> {
    const large = Math.floor(size / TILE_WIDTH ** 2);
    const small = Math.floor(size / TILE_WIDTH);
    const rows = await this.source.query<
      { first_position: string; last_position: string; leaves: number; hash: Buffer }[]
    >(PARTS, [organizationId, large, small]);
    return rows.map(({ first_position, last_position, leaves, hash }) => ({
      firstPosition: Number(first_position),
      lastPosition: Number(last_position),
      leaves,
      hash,
    }));
  }

  /** The number of the leaf that stands for the event at this position; undefined until it is sealed. */
  async indexOf(organizationId: string, position: number): Promise<number | undefined> {
    const [row] = await this.source.query<{ index: string; place: number }[]>(
      `SELECT index, array_position(positions, $2::bigint) AS place FROM seal_tiles
       WHERE organization_id = $1 AND level = 0 AND index = (
         SELECT t.index FROM seal_tiles t
         WHERE t.organization_id = $1 AND t.level = 0 AND t.positions[1] <= $2 ORDER BY t.index DESC LIMIT 1)`,
      [organizationId, position],
    );
    return row?.place ? Number(row.index) * TILE_WIDTH + row.place - 1 : undefined;
  }

  inclusion(organizationId: string, index: number, size: number): Promise<Buffer[]> {
    return inclusionPath(index, size, this.readerOf(organizationId));
  }

  consistency(organizationId: string, oldSize: number, size: number): Promise<Buffer[]> {
    return consistencyPath(oldSize, size, this.readerOf(organizationId));
  }

  private readerOf(organizationId: string): ReadSubtree {
    const tiles = new Map<string, Promise<Tile | undefined>>();
    return readFromTiles((level, index) => {
      const key = `${level}/${index}`;
      let tile = tiles.get(key);
      if (!tile) tiles.set(key, (tile = this.findTile(organizationId, level, index)));
      return tile;
    });
  }

  private async findTile(organizationId: string, level: number, index: number): Promise<Tile | undefined> {
    const [row] = await this.source.query<TileRow[]>(
      'SELECT * FROM seal_tiles WHERE organization_id = $1 AND level = $2 AND index = $3',
      [organizationId, level, index],
    );
    return row && tileOf(row);
  }

  /** @returns how many events the block has; undefined where another instance is at it. */
  private sealBlock(ifFree: boolean): Promise<number | undefined> {
    return this.lease.run(() => this.trySealBlock(ifFree));
  }

  private trySealBlock(ifFree: boolean): Promise<number | undefined> {
    return inTransaction(this.source, { idle: this.lease.patienceMs }, async (transaction) => {
      const [lease] = await transaction.query<{ position: string }[]>(
        `SELECT position FROM sealing FOR UPDATE ${ifFree ? 'SKIP LOCKED' : ''}`,
      );
      if (!lease) return undefined;
      // A statement of its own, before the events are read: see event_horizon().
      const [{ horizon } = { horizon: '0' }] = await transaction.query<{ horizon: string }[]>(
        'SELECT event_horizon() AS horizon',
      );
      const events = await transaction.query<{ position: string; organization_id: string }[]>(
        `SELECT position, organization_id FROM events
         WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3`,
        [lease.position, horizon, LARGEST_BLOCK],
      );
      if (events.length === 0) return 0;
      const upTo = events.length < LARGEST_BLOCK ? horizon : events.at(-1)!.position;
      const organizations = [...new Set(events.map(({ organization_id }) => organization_id))];
      for (const organizationId of await growTrees(transaction, organizations, upTo)) {
        this.logger.warn({ message: 'history not sealed: it is not what was sealed before', organizationId });
      }
      await transaction.query('UPDATE sealing SET position = $1', [upTo]);
      return events.length;
    });
  }

  private async sealUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    let failing = false;
    while (!signal.aborted) {
      try {
        await this.seal({ ifFree: true });
        failing = false;
      } catch (error) {
        const isTold = this.troubles?.tell(error) === true;
        // Said once, not every few seconds.
        if (!failing && !isTold)
          this.logger.warn({ message: 'history not sealed', reason: describeError(error) });
        failing = true;
      }
      await sleep(SEAL_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

// Tile 0 of level 2 holds the roots of 65,536 leaves each, those of level 1 of 256 each; level 0 the positions.
const PARTS = `
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

/** The leaf of an event: its position (8 bytes, big-endian) and its digest. */
export function leafOf(position: number, digest: Buffer): Buffer {
  const leaf = Buffer.alloc(8 + HASH);
  leaf.writeBigInt64BE(BigInt(position));
  digest.copy(leaf, 8);
  return leaf;
}

/**
 * Adds the events that each organization has up to `upTo` to its tree.
 *
 * @returns the organizations left out, because neither their tiles nor their events lead to their last root:
 *   nothing may be signed on top of that. Mended, they are caught up with by their next event.
 */
async function growTrees(
  transaction: Sql,
  organizations: readonly string[],
  upTo: string,
): Promise<string[]> {
  const rows = await transaction.query<SealRow[]>(
    `SELECT DISTINCT ON (organization_id) * FROM seals WHERE organization_id = ANY ($1::uuid[])
     ORDER BY organization_id, size DESC`,
    [organizations],
  );
  const heads = new Map(rows.map((row) => [row.organization_id, row]));
  const sizeOf = (id: string) => Number(heads.get(id)?.size ?? 0);
  const edges = organizations.flatMap((id) => edgeOf(sizeOf(id)).map((tile) => ({ id, ...tile })));
  const stored = await transaction.query<TileRow[]>(
    `SELECT t.* FROM unnest($1::uuid[], $2::int[], $3::bigint[]) AS e(organization_id, level, index)
     JOIN seal_tiles t USING (organization_id, level, index)`,
    [edges.map(({ id }) => id), edges.map(({ level }) => level), edges.map(({ index }) => index)],
  );
  const edgeTiles = new Map<string, Tile[]>();
  for (const row of stored) {
    edgeTiles.set(row.organization_id, [...(edgeTiles.get(row.organization_id) ?? []), tileOf(row)]);
  }
  const events = await transaction.query<{ organization_id: string; position: string; digest: Buffer }[]>(
    `SELECT e.organization_id, e.position, e.digest
     FROM unnest($1::uuid[], $2::bigint[]) AS h(organization_id, position)
     JOIN events e ON e.organization_id = h.organization_id AND e.position > h.position AND e.position <= $3
     ORDER BY e.position`,
    [organizations, organizations.map((id) => heads.get(id)?.position ?? 0), upTo],
  );
  const leaves = new Map<string, typeof events>();
  for (const event of events) {
    if (!leaves.has(event.organization_id)) leaves.set(event.organization_id, []);
    leaves.get(event.organization_id)!.push(event);
  }

  const tiles: [organizationId: string, tile: Tile][] = [];
  const seals: [organizationId: string, size: number, root: Buffer][] = [];
  const leftOut: string[] = [];
  for (const [id, own] of leaves) {
    const head = heads.get(id);
    let tree: GrowingTree | undefined = new GrowingTree(sizeOf(id), edgeTiles.get(id) ?? []);
    if (head && !(await leadsTo(tree, head))) tree = await regrow(transaction, head);
    if (!tree) {
      leftOut.push(id);
      continue;
    }
    append(tree, own);
    tiles.push(...[...tree.changed.values()].map((tile): [string, Tile] => [id, tile]));
    seals.push([id, tree.size, await rootOf(tree.size, tree.read)]);
  }
  // Positions as text: PostgreSQL has no arrays of arrays of different lengths.
  await transaction.query(
    `INSERT INTO seal_tiles (organization_id, level, index, hashes, positions)
     SELECT organization_id, level, index, hashes, positions::bigint[]
     FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bytea[], $5::text[])
       AS tile(organization_id, level, index, hashes, positions)
     ON CONFLICT (organization_id, level, index) DO UPDATE
     SET hashes = excluded.hashes, positions = excluded.positions`,
    [
      tiles.map(([id]) => id),
      tiles.map(([, { level }]) => level),
      tiles.map(([, { index }]) => index),
      tiles.map(([, { hashes }]) => Buffer.concat(hashes)),
      tiles.map(([, { positions }]) => `{${positions.join(',')}}`),
    ],
  );
  await transaction.query(
    `INSERT INTO seals (organization_id, size, root, position, sealed_at)
     SELECT organization_id, size, root, $4, clock_timestamp()
     FROM unnest($1::uuid[], $2::bigint[], $3::bytea[]) AS seal(organization_id, size, root)`,
    [seals.map(([id]) => id), seals.map(([, size]) => size), seals.map(([, , root]) => root), upTo],
  );
  return leftOut;
}

function append(tree: GrowingTree, events: readonly { position: string; digest: Buffer }[]): void {
  for (const { position, digest } of events) {
    tree.append(leafHash(leafOf(Number(position), digest)), Number(position));
  }
}

async function leadsTo(tree: GrowingTree, { size, root }: SealRow): Promise<boolean> {
  if (tree.size !== Number(size)) return false;
  // A tile that is missing or too short makes it throw.
  return rootOf(tree.size, tree.read).then(
    (found) => found.equals(root),
    () => false,
  );
}

/** The tree made anew from the events, where the tiles are damaged; undefined if these do not lead to the root. */
async function regrow(transaction: Sql, head: SealRow): Promise<GrowingTree | undefined> {
  const tree = new GrowingTree(0, []);
  for (let after = '0'; ;) {
    const events = await transaction.query<{ position: string; digest: Buffer }[]>(
      `SELECT position, digest FROM events WHERE organization_id = $1 AND position > $2 AND position <= $3
       ORDER BY position LIMIT $4`,
      [head.organization_id, after, head.position, LARGEST_BLOCK],
    );
    append(tree, events);
    if (events.length < LARGEST_BLOCK) break;
    after = events.at(-1)!.position;
  }
  return (await leadsTo(tree, head)) ? tree : undefined;
}

function tileOf({ level, index, hashes, positions }: TileRow): Tile {
  return {
    level,
    index: Number(index),
    hashes: Array.from({ length: hashes.length / HASH }, (_, n) => hashes.subarray(n * HASH, (n + 1) * HASH)),
    positions: positions.map(Number),
  };
}
