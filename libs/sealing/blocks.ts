import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { inTransaction, type Lease, type Sql } from '#libs/database';
import { isAsLate, leafOf, leafOfCheckpoint, type LeafRow, REFUSALS } from './growth.js';
import { ALL_ORGANIZATIONS } from './note.js';
import { type Growing, type Leaves, openTrees, type Refused, signTrees, TURN } from './signed-trees.js';
import { type SignedTree, type Signers } from './signers.js';
import { reachOf, readStoredTrees } from './stored-trees.js';

/**
 * Events per block. PostgreSQL considers a client dead if it computes hashes for seconds between two statements.
 * On a busy machine, that takes fifty times as long as on an idle one.
 */
const LARGEST_BLOCK = 2_500;
/** Organizations per block, for the same reason: each has a signature to verify and one to create. */
const MOST_ORGANIZATIONS = 500;

/** `isLast`: nothing is left to do. `refused`: the organizations for which nothing was signed. */
export type Block = { isLast: boolean; refused: Refused[] };

/** Seals blocks, each in a transaction that holds the lock of the row of `sealing`. */
export class Blocks {
  constructor(
    private readonly source: DataSource,
    private readonly lease: Lease,
    private readonly signers: Signers,
  ) {}

  /**
   * Adds the next events of the log to their organizations' trees and signs the trees.
   *
   * @param ifFree see `Sealer.seal`.
   */
  async seal(ifFree: boolean): Promise<Block> {
    return inTransaction(this.source, { idle: this.lease.timeoutMs }, async (transaction) => {
      const [lease] = await transaction.query<{ position: string }[]>(
        `SELECT position FROM sealing FOR UPDATE ${ifFree ? 'SKIP LOCKED' : ''}`,
      );
      if (!lease) return { isLast: true, refused: [] };
      // In a separate statement, before the events are read: see event_horizon().
      const [now] = await transaction.query<{ horizon: string; time: Date }[]>(
        'SELECT greatest(event_horizon(), $1) AS horizon, clock_timestamp()::timestamptz(3) AS time',
        [lease.position],
      );
      const { horizon, time } = now!;
      const events = await transaction.query<{ position: string; organization_id: string }[]>(
        `SELECT position, organization_id FROM events
         WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3`,
        [lease.position, horizon, LARGEST_BLOCK],
      );
      const isFull = events.length === LARGEST_BLOCK;
      const upTo = isFull ? events.at(-1)!.position : horizon;
      const due = await transaction.query<{ organization_id: string }[]>(
        `SELECT organization_id FROM signed_notes
         WHERE look_at <= clock_timestamp() AND refused IS NULL AND organization_id <> $2 ORDER BY look_at LIMIT $1`,
        [MOST_ORGANIZATIONS, ALL_ORGANIZATIONS],
      );
      const ids = new Set([...events, ...due].map(({ organization_id }) => organization_id));
      // The leaves of this log are not events.
      ids.delete(ALL_ORGANIZATIONS);
      const organizations = [...ids];
      let isLast = !isFull && due.length < MOST_ORGANIZATIONS;
      const refused: Refused[] = [];
      for (let n = 0; n < organizations.length; n += MOST_ORGANIZATIONS) {
        const some = organizations.slice(n, n + MOST_ORGANIZATIONS);
        const block = await this.sealOrganizations(transaction, some, Number(upTo), time);
        isLast &&= block.isLast;
        refused.push(...block.refused);
      }
      if (upTo !== lease.position) await transaction.query('UPDATE sealing SET position = $1', [upTo]);
      return { isLast, refused };
    });
  }

  /** Adds each organization's events up to `upTo` to its tree, at most a block of them, and signs it. */
  private async sealOrganizations(
    transaction: Sql,
    organizationIds: readonly string[],
    upTo: number,
    sealedAt: Date,
  ): Promise<Block> {
    const { trees, refused } = await openTrees(transaction, this.signers, organizationIds, upTo);
    const leaves = await readLeaves(transaction, trees, upTo);
    refused.push(...(await signTrees(transaction, this.signers, trees, leaves, sealedAt)));
    await refuse(transaction, refused);
    return { isLast: leaves.isLast, refused };
  }

  /**
   * Adds checkpoints signed since the last call to the log of all organizations: that of `first`, and at most a
   * block of others.
   */
  async log(first: string | null = null): Promise<Block> {
    return inTransaction(this.source, { idle: this.lease.timeoutMs }, async (transaction) => {
      await transaction.query('SELECT FROM sealing FOR UPDATE');
      const due = await transaction.query<{ organization_id: string; note: string | null }[]>(NOT_LOGGED, [
        first,
        ALL_ORGANIZATIONS,
        MOST_ORGANIZATIONS,
      ]);
      if (due.length === 0) return { isLast: true, refused: [] };
      const reached = await reachOf(transaction, ALL_ORGANIZATIONS);
      const { trees, refused } = await openTrees(transaction, this.signers, [ALL_ORGANIZATIONS], reached);
      const [all] = trees;
      if (all) {
        const { signed, refused: spoiled } = await this.openNotes(transaction, due);
        refused.push(...spoiled);
        const leaves = await writeLeaves(transaction, signed, reached);
        const added = {
          leaves: new Map([[ALL_ORGANIZATIONS, leaves]]),
          reached: reached + leaves.length,
          isLast: true,
        };
        const [now] = await transaction.query<{ time: Date }[]>(
          'SELECT clock_timestamp()::timestamptz(3) AS time',
        );
        refused.push(...(await signTrees(transaction, this.signers, [all], added, now!.time)));
      }
      await refuse(transaction, refused);
      return { isLast: !all || due.length < MOST_ORGANIZATIONS, refused };
    });
  }

  /**
   * Verifies the notes: they must be ours and not older than their organization's last leaf. `isLogged`: the
   * leaf already exists.
   */
  private async openNotes(
    transaction: Sql,
    notes: readonly { organization_id: string; note: string | null }[],
  ): Promise<{ signed: (SignedTree & { isLogged: boolean })[]; refused: Refused[] }> {
    const signed: (SignedTree & { isLogged: boolean })[] = [];
    const refused: Refused[] = [];
    const ids = notes.flatMap(({ organization_id, note }) => (note === null ? [] : organization_id));
    for (const [n, { organizationId, note, leaf }] of (await readStoredTrees(transaction, ids)).entries()) {
      if (n % TURN === TURN - 1) await nextTurn();
      const tree = this.signers.open(note!);
      if (tree?.organizationId !== organizationId) refused.push({ organizationId, reason: REFUSALS.key });
      else if (leaf && !isAsLate(tree, leaf)) refused.push({ organizationId, reason: REFUSALS.older });
      else signed.push({ ...tree, isLogged: leaf?.size === tree.size });
    }
    return { signed, refused };
  }
}

/** The next events of several trees up to a position, at most a block. */
async function readLeaves(transaction: Sql, trees: readonly Growing[], upTo: number): Promise<Leaves> {
  const rows = await transaction.query<{ organization_id: string; position: string; digest: Buffer }[]>(
    `SELECT h.organization_id, e.position, e.digest
     FROM unnest($1::uuid[], $2::bigint[]) AS h(organization_id, position) CROSS JOIN LATERAL (
       SELECT e.position, e.digest FROM events e
       WHERE e.organization_id = h.organization_id AND e.position > h.position AND e.position <= $3
       ORDER BY e.position LIMIT $4
     ) e ORDER BY e.position LIMIT $4`,
    [
      trees.map(({ organizationId }) => organizationId),
      trees.map(({ tree }) => tree?.position ?? 0),
      upTo,
      LARGEST_BLOCK,
    ],
  );
  const leaves = new Map<string, LeafRow[]>();
  for (const { organization_id, position, digest } of rows) {
    const row = { position, leaf: leafOf(Number(position), digest) };
    const own = leaves.get(organization_id);
    if (own) own.push(row);
    else leaves.set(organization_id, [row]);
  }
  const isLast = rows.length < LARGEST_BLOCK;
  return { leaves, isLast, reached: isLast ? upTo : Number(rows.at(-1)!.position) };
}

// The log itself is only included if another key must sign it.
const NOT_LOGGED = `
  SELECT organization_id, note FROM signed_notes
  WHERE organization_id = $1 AND organization_id <> $2 AND NOT logged AND note IS NOT NULL AND refused IS NULL
  UNION ALL
  (SELECT organization_id, note FROM signed_notes
   WHERE organization_id NOT IN ($2, coalesce($1, $2)) AND NOT logged AND note IS NOT NULL AND refused IS NULL
   ORDER BY organization_id LIMIT $3)
  UNION ALL
  SELECT organization_id, NULL FROM signed_notes
  WHERE organization_id = $2 AND look_at <= clock_timestamp() AND refused IS NULL`;

/** @param after the number of the last leaf. @returns the new leaves, with the numbers after it. */
async function writeLeaves(
  transaction: Sql,
  signed: readonly (SignedTree & { isLogged: boolean })[],
  after: number,
): Promise<LeafRow[]> {
  const added = signed
    .filter(({ isLogged }) => !isLogged)
    .map((tree, n) => ({ tree, position: String(after + 1 + n), leaf: leafOfCheckpoint(tree) }));
  await transaction.query(
    `INSERT INTO checkpoint_leaves (position, organization_id, size, root)
     SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bytea[])`,
    [
      added.map(({ position }) => position),
      added.map(({ tree }) => tree.organizationId),
      added.map(({ tree }) => tree.size),
      added.map(({ tree }) => tree.root),
    ],
  );
  await transaction.query('UPDATE signed_notes SET logged = true WHERE organization_id = ANY ($1)', [
    signed.map(({ organizationId }) => organizationId),
  ]);
  return added;
}

/**
 * Quarantines organizations: nothing is signed for them until they have been checked, which is due immediately.
 */
export async function refuse(transaction: Sql, refused: readonly Refused[]): Promise<void> {
  if (refused.length === 0) return;
  await transaction.query(
    `INSERT INTO signed_notes (organization_id, refused, refused_at, look_at)
     SELECT organization_id, reason, clock_timestamp(), clock_timestamp()
     FROM unnest($1::uuid[], $2::text[]) AS refused(organization_id, reason)
     ON CONFLICT (organization_id) DO UPDATE
     SET refused = excluded.refused, refused_at = excluded.refused_at, look_at = excluded.look_at`,
    [refused.map(({ organizationId }) => organizationId), refused.map(({ reason }) => reason)],
  );
}
