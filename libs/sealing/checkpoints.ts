import { type DataSource } from 'typeorm';
import { isAsLate, leafOf, leafOfCheckpoint } from './growth.js';
import { ALL_ORGANIZATIONS, type SealedTree } from './note.js';
import {
  indexesOf,
  indexOf,
  orderedReaderOf,
  type Proof,
  proveConsistency,
  proveInclusion,
  readHashes,
  readLeaves,
  readParts,
  subtreesBetween,
} from './proofs.js';
import { type Sealer } from './sealer.js';
import { type SignedTree } from './signers.js';
import { readStoredTrees, type StoredTree } from './stored-trees.js';
import { TILE_WIDTH, TileMissing } from './tiles.js';

/** No signed checkpoint covers the requested data. */
export class NotSealed extends Error {
  constructor() {
    super('the stored history of the organization does not match what was signed before');
    this.name = 'NotSealed';
  }
}

/** The log has no events yet. */
export class NothingSealed extends NotSealed {}

/** A checkpoint may have been replaced while it was read. Then only the next one gets a leaf. */
const MOST_TRIES = 3;

/**
 * Returns signed checkpoints and proofs against them. It signs nothing and verifies every proof before
 * returning it.
 */
export class Checkpoints {
  constructor(
    private readonly source: DataSource,
    private readonly sealer: Sealer,
  ) {}

  keyOf(organizationId: string): string {
    return this.sealer.signers.verifierKeyOf(organizationId);
  }

  /** The last checkpoint of an organization. If there is none, it is sealed now. @throws NotSealed or NothingSealed */
  async last(organizationId: string): Promise<SignedTree> {
    let { stored, signed } = await this.find(organizationId);
    const isWanting = !signed?.isSignedByAll || signed.size < (stored.last?.size ?? 0);
    if (stored.refused === null && isWanting) {
      await this.sealer.sign(organizationId);
      ({ stored, signed } = await this.find(organizationId));
    }
    const isEmpty = stored.note === null && !stored.last && !stored.leaf && stored.refused === null;
    if (!signed) throw isEmpty ? new NothingSealed() : new NotSealed();
    await this.keep(signed, stored.last);
    return signed;
  }

  /**
   * The last checkpoint and its proof in the log of all organizations; undefined while that log has no
   * checkpoint.
   *
   * @throws NotSealed if there is no checkpoint.
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
   * The last checkpoint of each organization in the log of all organizations up to this size, one line
   * `<organization> <size> <root>` each. Auditors who keep this list can identify a missing organization even
   * if the whole log was replaced.
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
   * The subtrees that lead to the checkpoint's root, one per line: those of 65,536 leaves, those of 256, and
   * the rest. They show which part of a rewritten history differs. Empty if the stored tiles do not lead to the
   * root.
   */
  async parts(checkpoint: SignedTree): Promise<string> {
    const parts = await readParts(this.source, checkpoint);
    if (parts === undefined) await this.sealer.distrust(checkpoint.organizationId);
    return parts ?? '';
  }

  /** Proves that the first `size` leaves are a prefix of the checkpoint's tree. @throws NotSealed */
  async consistency(checkpoint: SignedTree, size: number): Promise<Buffer[]> {
    return this.proved(checkpoint, () => proveConsistency(this.source, checkpoint, size));
  }

  /**
   * Proves that an event is in the tree of the last checkpoint. If it is not sealed yet, it is sealed now.
   *
   * @throws NotSealed
   */
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

  /**
   * The last checkpoint, after sealing all events so far, and its tree: the numbers of leaves, and complete subtrees between
   * them. What they return is not verified yet. Both throw TileMissing if the tree is incomplete.
   *
   * @throws NotSealed
   */
  async openTree(organizationId: string): Promise<{
    checkpoint: SignedTree;
    indexesOf: (positions: readonly number[]) => Promise<number[]>;
    between: (start: number, end: number) => AsyncGenerator<{ leaves: number; hash: Buffer }>;
  }> {
    await this.sealer.seal();
    const checkpoint = await this.last(organizationId);
    const read = orderedReaderOf(this.source, organizationId);
    return {
      checkpoint,
      indexesOf: async (positions) => {
        const indexes = await indexesOf(this.source, organizationId, positions);
        return indexes.map((index, n) => {
          if (index === undefined)
            throw new TileMissing(`The tree lacks the event at position ${positions[n]}.`);
          return index;
        });
      },
      between: (start, end) => subtreesBetween(read, start, end),
    };
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
   * The first `width` hashes of a tile (C2SP tlog-tiles); undefined if the last checkpoint's tree has fewer.
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

  /** The leaves whose hashes are the first ones of a tile at level 0. Otherwise like {@link tile}. */
  async leaves(organizationId: string, index: number, width: number): Promise<Buffer[] | undefined> {
    const signed = await this.holding(organizationId, 0, index, width);
    return signed && this.proved(signed, () => readLeaves(this.source, organizationId, index, width));
  }

  /**
   * The last checkpoint, if its tree has these leaves or nodes.
   *
   * @throws NotSealed if no checkpoint is readable.
   */
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
    // An older note that someone has restored was once valid.
    const isLast = signed?.organizationId === organizationId && (!leaf || isAsLate(signed, leaf));
    return { stored: stored!, signed: isLast ? signed : undefined };
  }

  /**
   * Marks the seal of a published checkpoint, so that it stays in the table. If the next seal has replaced it
   * since, it is inserted again.
   */
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
