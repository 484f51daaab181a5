import { type DataSource } from 'typeorm';
import { isAsLate, leafOf, leafOfCheckpoint } from './growth.js';
import { ALL_ORGANIZATIONS, type SealedTree } from './note.js';
import {
  indexOf,
  type Proof,
  proveConsistency,
  proveInclusion,
  readHashes,
  readLeaves,
  readParts,
} from './proofs.js';
import { type Sealer } from './sealer.js';
import { type SignedTree } from './signers.js';
import { readStoredTrees, type StoredTree } from './stored-trees.js';
import { TILE_WIDTH, TileMissing } from './tiles.js';

/** Nothing is signed that has what was asked for. */
export class NotSealed extends Error {
  constructor() {
    super('what is stored of the organization’s history does not lead to what was signed before');
    this.name = 'NotSealed';
  }
}

/** A checkpoint may be handed out while the next one is signed, which has the leaf then. */
const MOST_TRIES = 3;

/** Hands out what was signed, and proofs against it. Signs nothing, and proves nothing that it has not checked itself. */
export class Checkpoints {
  constructor(
    private readonly source: DataSource,
    private readonly sealer: Sealer,
  ) {}

  /** The verifier key of what is signed for an organization. */
  keyOf(organizationId: string): string {
    return this.sealer.signers.verifierKeyOf(organizationId);
  }

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
    const parts = await readParts(this.source, checkpoint);
    if (parts === undefined) await this.sealer.distrust(checkpoint.organizationId);
    return parts ?? '';
  }

  /** What proves that the first `size` leaves are the beginning of the checkpoint's tree. @throws NotSealed */
  async consistency(checkpoint: SignedTree, size: number): Promise<Buffer[]> {
    return this.proved(checkpoint, () => proveConsistency(this.source, checkpoint, size));
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
    return this.proveLeaf(checkpoint, leaf, () => indexOf(this.source, organizationId, event.position));
  }

  private proveLeaf(
    checkpoint: SignedTree,
    leaf: Buffer,
    find: () => Promise<number | undefined>,
  ): Promise<Proof> {
    return this.proved(checkpoint, async () => {
      const index = await find();
      return index === undefined ? undefined : proveInclusion(this.source, checkpoint, leaf, index);
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
    return signed && this.proved(signed, () => readHashes(this.source, organizationId, level, index, width));
  }

  /** What the first hashes of a tile of level 0 are the leaf hashes of; otherwise as {@link tile}. */
  async leaves(organizationId: string, index: number, width: number): Promise<Buffer[] | undefined> {
    const signed = await this.holding(organizationId, 0, index, width);
    return signed && this.proved(signed, () => readLeaves(this.source, organizationId, index, width));
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
}
