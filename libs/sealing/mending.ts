import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { inTransaction, type Lease, type Sql } from '#libs/database';
import {
  type Base,
  baseOf,
  grow,
  leafOf,
  leafOfCheckpoint,
  type LeafRow,
  type Refusal,
  REFUSALS,
} from './growth.js';
import { ALL_ORGANIZATIONS, logNameOf, type SealedTree } from './note.js';
import { type Signers } from './signers.js';
import { reachOf, readStoredTrees, type StoredTree, writeTiles } from './stored-trees.js';
import { GrowingTree, TILE_WIDTH } from './tiles.js';

/** Leaves per query. Hashing them takes less time than a request may wait. */
const PAGE = 2_000;
/** How often a claim is renewed. A claim that is not renewed for a minute expires. */
const CLAIM_MS = 15_000;
/**
 * The next check of a quarantined organization is due after a minute, or after a hundred times the duration of
 * this check.
 */
const LOOK_AGAIN_SECONDS = 60;
const SHARE = 100;

/**
 * Checks quarantined organizations and resumes sealing if possible. Damaged tiles are rebuilt from the events
 * in constant memory. The first pass checks whether the events lead to what was signed. The second one writes
 * the tiles that differ. Sealing continues for all others in the meantime.
 */
export class Mending {
  constructor(
    private readonly source: DataSource,
    private readonly lease: Lease,
    private readonly signers: Signers,
    private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>,
    private readonly signal: AbortSignal,
  ) {}

  /** Checks each organization that is due, one after another. */
  async run(): Promise<void> {
    for (let id = await this.claim(); id !== undefined; id = await this.claim()) await this.check(id);
  }

  async check(organizationId: string): Promise<void> {
    const begun = performance.now();
    const [stored] = await readStoredTrees(this.source, [organizationId]);
    if (stored!.refused === null) return;
    const refusal = await this.examine(stored!);
    if (refusal === undefined) {
      const message = 'history matches what was signed: sealing resumes';
      this.logger.log({ message, organizationId: logNameOf(organizationId) });
      return;
    }
    const seconds = Math.max(LOOK_AGAIN_SECONDS, (SHARE * (performance.now() - begun)) / 1_000);
    await this.source.query(
      `UPDATE signed_notes SET refused = $2, look_at = clock_timestamp() + make_interval(secs => $3)
       WHERE organization_id = $1 AND refused IS NOT NULL`,
      [organizationId, refusal, seconds],
    );
    if (refusal !== stored!.refused) this.report(organizationId, refusal);
  }

  /** Call it once per quarantine. */
  report(organizationId: string, reason: Refusal): void {
    if (reason === REFUSALS.tiles) {
      const message = 'tiles of a history are damaged: they are rebuilt if the events match what was signed';
      this.logger.warn({ message, organizationId: logNameOf(organizationId) });
      return;
    }
    this.logger.error({
      message: 'history not sealed: it does not match what was sealed before',
      organizationId: logNameOf(organizationId),
      reason,
      advice:
        'it was altered, a key is missing, or a restore was incomplete: change nothing, copy the database, ' +
        'and see docs/guides/runbooks/history-quarantined.md',
    });
  }

  /** @returns why it stays quarantined; undefined if it no longer is. */
  private async examine(stored: StoredTree): Promise<Refusal | undefined> {
    const { organizationId } = stored;
    const base = baseOf(stored, this.signers, await reachOf(this.source, organizationId));
    if (typeof base === 'string') return base;
    if (!(await this.leadsToSeals(stored, base))) {
      return organizationId === ALL_ORGANIZATIONS ? REFUSALS.leaves : REFUSALS.events;
    }
    if (await this.writeTiles(stored, base)) return undefined;
    // Another process changed it at the same time. The next check decides.
    return stored.refused as Refusal;
  }

  private async leadsToSeals(stored: StoredTree, { tree: base }: Base): Promise<boolean> {
    const tree = new GrowingTree(0, []);
    for await (const leaves of this.leavesOf(stored)) {
      if (!(await grow(tree, leaves, sealedTrees(stored, base)))) return false;
      tree.changed.clear();
    }
    return tree.size === (stored.last?.size ?? 0);
  }

  /** @returns whether the leaves matched again, and nothing was sealed in the meantime. */
  private async writeTiles(stored: StoredTree, { tree: base }: Base): Promise<boolean> {
    const { organizationId, last } = stored;
    const tree = new GrowingTree(0, []);
    for await (const leaves of this.leavesOf(stored)) {
      if (!(await grow(tree, leaves, sealedTrees(stored, base)))) return false;
      const full = [...tree.changed].filter(([, { hashes }]) => hashes.length === TILE_WIDTH);
      await writeTiles(
        this.source,
        full.map(([, tile]) => [organizationId, tile]),
      );
      for (const [key] of full) tree.changed.delete(key);
    }
    if (tree.size !== (last?.size ?? 0)) return false;
    return this.lease.run(() =>
      inTransaction(this.source, { idle: this.lease.timeoutMs }, async (transaction) => {
        await transaction.query('SELECT FROM sealing FOR UPDATE');
        const [now] = await readStoredTrees(transaction, [organizationId]);
        if (now!.note !== stored.note || now!.last?.size !== last?.size) return false;
        // Tiles at the edge still grow, so an instance of an earlier version may have changed them.
        await writeTiles(
          transaction,
          [...tree.changed.values()].map((tile) => [organizationId, tile]),
        );
        await transaction.query(
          `UPDATE signed_notes SET refused = NULL, refused_at = NULL, look_at = clock_timestamp()
           WHERE organization_id = $1`,
          [organizationId],
        );
        return true;
      }),
    );
  }

  /** The leaves up to the last seal, page by page. */
  private async *leavesOf({ organizationId, last }: StoredTree): AsyncGenerator<LeafRow[]> {
    const read = organizationId === ALL_ORGANIZATIONS ? readCheckpoints : readEvents;
    let claimed = performance.now();
    for (let after = '0'; ;) {
      this.signal.throwIfAborted();
      const leaves = await read(this.source, organizationId, after, last?.position ?? 0);
      yield leaves;
      if (leaves.length < PAGE) return;
      after = leaves.at(-1)!.position;
      if (performance.now() - claimed < CLAIM_MS) continue;
      claimed = performance.now();
      await this.source.query(`UPDATE signed_notes SET look_at = ${CLAIMED} WHERE organization_id = $1`, [
        organizationId,
      ]);
    }
  }

  /** Claims an organization that is due and that no other process is checking. */
  private async claim(): Promise<string | undefined> {
    if (this.signal.aborted) return undefined;
    const [rows] = await this.source.query<[{ organization_id: string }[], number]>(
      `UPDATE signed_notes SET look_at = ${CLAIMED} WHERE organization_id = (
         SELECT organization_id FROM signed_notes WHERE refused IS NOT NULL AND look_at <= clock_timestamp()
         ORDER BY look_at LIMIT 1 FOR UPDATE SKIP LOCKED
       ) RETURNING organization_id`,
    );
    return rows[0]?.organization_id;
  }
}

/** Reads a page of leaves after one position and up to another. */
type ReadLeaves = (sql: Sql, organizationId: string, after: string, upTo: number) => Promise<LeafRow[]>;

const readEvents: ReadLeaves = async (sql, organizationId, after, upTo) => {
  const rows = await sql.query<{ position: string; digest: Buffer }[]>(
    `SELECT position, digest FROM events WHERE organization_id = $1 AND position > $2 AND position <= $3
     ORDER BY position LIMIT $4`,
    [organizationId, after, upTo, PAGE],
  );
  return rows.map(({ position, digest }) => ({ position, leaf: leafOf(Number(position), digest) }));
};

const readCheckpoints: ReadLeaves = async (sql, _all, after, upTo) => {
  const rows = await sql.query<{ position: string; organization_id: string; size: string; root: Buffer }[]>(
    `SELECT position, organization_id, size, root FROM checkpoint_leaves WHERE position > $1 AND position <= $2
     ORDER BY position LIMIT $3`,
    [after, upTo, PAGE],
  );
  return rows.map(({ position, organization_id: organizationId, size, root }) => ({
    position,
    leaf: leafOfCheckpoint({ organizationId, size: Number(size), root }),
  }));
};

const CLAIMED = `clock_timestamp() + interval '1 minute'`;

function sealedTrees({ last }: StoredTree, base: SealedTree | undefined): SealedTree[] {
  return [base, last].filter((tree) => tree !== undefined);
}
