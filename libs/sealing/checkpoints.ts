import { type DataSource } from 'typeorm';
import { isAsLate, leafOf, leafOfCheckpoint } from './growth.js';
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
import { ALL_ORGANIZATIONS, type SealedTree } from './note.js';
import { type Sealer } from './sealer.js';
import { type SignedTree } from './signers.js';
import { LEAF_AT, PARTS, readStoredTrees, readTile, type StoredTree } from './stored-trees.js';
import { combine, readFromTiles, type Tile, TILE_WIDTH, TileMissing } from './tiles.js';

/** Nothing is signed that has what was asked for. */
export class NotSealed extends Error {
  constructor() {
    super('what is stored of the organization’s history does not lead to what was signed before');
    this.name = 'NotSealed';
  }
}

/** A complete subtree, and the positions of its first and last leaf. */
type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Buffer };

export type Proof = {
  /** The number of the leaf, from 0. */
  index: number;
  /** From the leaf to the root (RFC 6962, section 2.1.1). */
  path: Buffer[];
  checkpoint: SignedTree;
};

/** A checkpoint may be handed out while the next one is signed, which has the leaf then. */
const MOST_TRIES = 3;

/** A proof as a text that needs no other (C2SP tlog-proof). */
export function writeProof({ index, path, checkpoint }: Proof): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes}\n${checkpoint.note}`;
}

/** Hands out what was signed, and proofs against it. Signs nothing, and proves nothing that it has not checked itself. */
export class Checkpoints {
  constructor(
    private readonly source: DataSource,
    private readonly sealer: Sealer,
  ) {}

  /** The last checkpoint of an organization, sealed if there is none. @throws NotSealed */
  async last(organizationId: string): Promise<SignedTree> {
    let { stored, signed } = await this.find(organizationId);
    const isWanting = !signed?.isSignedByAll || signed.size < (stored.last?.size ?? 0);
    if (stored.refused === null && isWanting) {
      await this.sealer.sign(organizationId);
      ({ stored, signed } = await this.find(organizationId));
    }
    if (!signed) throw new NotSealed();
    await this.keep(signed, stored.last);
    return signed;
  }

  /**
   * The last checkpoint, and where it is in the log of all organizations; undefined while nothing is signed of that.
   *
   * @throws NotSealed where there is no checkpoint.
   */
  async lastInAll(organizationId: string): Promise<{ checkpoint: SignedTree; inAll: Proof | undefined }> {
    for (let tries = 1; ; tries += 1) {
      const checkpoint = await this.last(organizationId);
      const inAll = await this.proveInAll(checkpoint);
      if (inAll || tries === MOST_TRIES) return { checkpoint, inAll };
      await this.sealer.log(organizationId);
    }
  }

  /**
   * What the log of all organizations has last of each up to this checkpoint of it, a line `<organization> <size> <root>` each.
   * With that whoever keeps it can say which one is gone, also where the whole log is another.
   */
  async organizations({ size }: SignedTree): Promise<string> {
    const [row] = await this.source.query<{ lines: string | null }[]>(
      `SELECT string_agg(concat_ws(' ', organization_id, size, encode(root, 'base64')) || E'\\n', ''
                         ORDER BY organization_id) AS lines
       FROM (SELECT DISTINCT ON (organization_id) organization_id, size, root FROM checkpoint_leaves
             WHERE position <= $1 ORDER BY organization_id, size DESC) last`,
      [size],
    );
    return row!.lines ?? '';
  }

  private async proveInAll(tree: SignedTree): Promise<Proof | undefined> {
    const [row] = await this.source.query<{ position: string }[]>(
      'SELECT position FROM checkpoint_leaves WHERE organization_id = $1 AND size = $2',
      [tree.organizationId, tree.size],
    );
    if (!row) return undefined;
    try {
      const all = await this.last(ALL_ORGANIZATIONS);
      return await this.proveLeaf(all, leafOfCheckpoint(tree), () =>
        Promise.resolve(Number(row.position) - 1),
      );
    } catch (error) {
      if (error instanceof NotSealed) return undefined;
      throw error;
    }
  }

  /**
   * The subtrees that lead to the checkpoint's root, a line each: those of 65,536 leaves, of 256, and what the rest is made
   * of. They tell which part of a rewritten history differs. Empty where the stored tiles do not lead there.
   */
  async parts(checkpoint: SignedTree): Promise<string> {
    const parts = await this.readParts(checkpoint);
    if (!rootOfSubtrees(parts).equals(checkpoint.root)) {
      await this.sealer.distrust(checkpoint.organizationId);
      return '';
    }
    return parts
      .map(
        ({ firstPosition, lastPosition, leaves, hash }) =>
          `${firstPosition} ${lastPosition} ${leaves} ${hash.toString('base64')}\n`,
      )
      .join('');
  }

  /** What proves that the first `size` leaves are the beginning of the checkpoint's tree. @throws NotSealed */
  async consistency(checkpoint: SignedTree, size: number): Promise<Buffer[]> {
    const read = this.readerOf(checkpoint.organizationId);
    return this.proved(checkpoint, async () => {
      const path = await consistencyPath(size, checkpoint.size, read);
      const older = { size, root: await rootOf(size, read) };
      return isConsistent(older, checkpoint, path) ? path : undefined;
    });
  }

  /** Proves that an event is in the tree of the last checkpoint; what is not sealed yet is sealed. @throws NotSealed */
  async prove(organizationId: string, event: { position: number; digest: Buffer }): Promise<Proof> {
    let checkpoint = await this.last(organizationId);
    if (event.position > checkpoint.position) {
      await this.sealer.seal();
      checkpoint = await this.last(organizationId);
    }
    if (event.position > checkpoint.position) throw new NotSealed();
    const leaf = leafOf(event.position, event.digest);
    return this.proveLeaf(checkpoint, leaf, () => this.indexOf(organizationId, event.position));
  }

  private proveLeaf(
    checkpoint: SignedTree,
    leaf: Buffer,
    find: () => Promise<number | undefined>,
  ): Promise<Proof> {
    const { organizationId, size, root } = checkpoint;
    return this.proved(checkpoint, async () => {
      const index = await find();
      if (index === undefined || index >= size) return undefined;
      const path = await inclusionPath(index, size, this.readerOf(organizationId));
      const found = rootOfPath(leafHash(leaf), index, size, path);
      return found?.equals(root) ? { index, path, checkpoint } : undefined;
    });
  }

  /**
   * The first `width` hashes of a tile (C2SP tlog-tiles); undefined where the last checkpoint’s tree has not so many.
   *
   * @throws NotSealed
   */
  async tile(
    organizationId: string,
    level: number,
    index: number,
    width: number,
  ): Promise<Buffer | undefined> {
    const signed = await this.holding(organizationId, level, index, width);
    return signed && this.proved(signed, () => this.readHashes(organizationId, level, index, width));
  }

  /** What the first hashes of a tile of level 0 are the leaf hashes of; otherwise as {@link tile}. */
  async leaves(organizationId: string, index: number, width: number): Promise<Buffer[] | undefined> {
    const signed = await this.holding(organizationId, 0, index, width);
    return signed && this.proved(signed, () => this.readLeaves(organizationId, index, width));
  }

  /** The last checkpoint, if its tree has these leaves or nodes. @throws NotSealed where none can be read. */
  private async holding(
    organizationId: string,
    level: number,
    index: number,
    width: number,
  ): Promise<SignedTree | undefined> {
    const { stored, signed } = await this.find(organizationId);
    if (!signed && stored.note !== null) throw new NotSealed();
    const needed = (index * TILE_WIDTH + width) * TILE_WIDTH ** level;
    return signed && needed <= signed.size ? signed : undefined;
  }

  private async readHashes(
    organizationId: string,
    level: number,
    index: number,
    width: number,
  ): Promise<Buffer | undefined> {
    const tile = await readTile(this.source, organizationId, level, index);
    return tile && tile.hashes.length >= width ? Buffer.concat(tile.hashes.slice(0, width)) : undefined;
  }

  private async readLeaves(
    organizationId: string,
    index: number,
    width: number,
  ): Promise<Buffer[] | undefined> {
    const tile = await readTile(this.source, organizationId, 0, index);
    const rows = await this.source.query<{ position: string; digest: Buffer }[]>(
      `SELECT position, digest FROM events WHERE organization_id = $1 AND position = ANY ($2::bigint[])
       ORDER BY position`,
      [organizationId, tile?.positions.slice(0, width) ?? []],
    );
    const leaves = rows.map(({ position, digest }) => leafOf(Number(position), digest));
    const areSealed = leaves.every((leaf, n) => leafHash(leaf).equals(tile!.hashes[n]!));
    return leaves.length === width && areSealed ? leaves : undefined;
  }

  private async proved<Found>(
    { organizationId }: SignedTree,
    find: () => Promise<Found | undefined>,
  ): Promise<Found> {
    const found = await find().catch((error: unknown) => {
      if (error instanceof TileMissing) return undefined;
      throw error;
    });
    if (found !== undefined) return found;
    await this.sealer.distrust(organizationId);
    throw new NotSealed();
  }

  private async find(
    organizationId: string,
  ): Promise<{ stored: StoredTree; signed: SignedTree | undefined }> {
    const [stored] = await readStoredTrees(this.source, [organizationId]);
    const { note, leaf } = stored!;
    const signed = note === null ? undefined : this.sealer.signers.open(note);
    // One that somebody put back was right once.
    const isLast = signed?.organizationId === organizationId && (!leaf || isAsLate(signed, leaf));
    return { stored: stored!, signed: isLast ? signed : undefined };
  }

  /** What was handed out stays in the table of seals. It may have made room for the next one since it was read. */
  private async keep(
    { organizationId, size, root, position, sealedAt }: SealedTree,
    last: StoredTree['last'],
  ): Promise<void> {
    if (!last || last.size < size || (last.size === size && last.kept)) return;
    await this.source.query(
      `INSERT INTO seals (organization_id, size, root, position, sealed_at) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (organization_id, size) DO UPDATE SET kept = true WHERE NOT seals.kept`,
      [organizationId, size, root, position, sealedAt],
    );
  }

  private async indexOf(organizationId: string, position: number): Promise<number | undefined> {
    const [row] = await this.source.query<{ index: string; place: number | null }[]>(LEAF_AT, [
      organizationId,
      position,
    ]);
    return row?.place ? Number(row.index) * TILE_WIDTH + row.place - 1 : undefined;
  }

  private async readParts({ organizationId, size }: SealedTree): Promise<Part[]> {
    const whole = Math.floor(size / TILE_WIDTH);
    const rows = await this.source.query<
      { first_position: string; last_position: string; leaves: number; hash: Buffer }[]
    >(PARTS, [organizationId, Math.floor(whole / TILE_WIDTH), whole]);
    const parts = rows.map(({ first_position, last_position, leaves, hash }) => ({
      firstPosition: Number(first_position),
      lastPosition: Number(last_position),
      leaves,
      hash,
    }));
    const rest = await readTile(this.source, organizationId, 0, whole);
    return [...parts, ...(rest ? partsOf(rest, size % TILE_WIDTH) : [])];
  }

  private readerOf(organizationId: string): ReadSubtree {
    const tiles = new Map<string, Promise<Tile | undefined>>();
    return readFromTiles((level, index) => {
      const key = `${level}/${index}`;
      let tile = tiles.get(key);
      if (!tile) tiles.set(key, (tile = readTile(this.source, organizationId, level, index)));
      return tile;
    });
  }
}

/** The complete subtrees that the first leaves of a tile are made of. */
function partsOf({ hashes, positions }: Tile, count: number): Part[] {
  if (hashes.length < count || positions.length < count) return [];
  const parts: Part[] = [];
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
