import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Sql } from '#libs/database';
import { type Base, baseOf, grow, type LeafRow, type Refusal, REFUSALS } from './growth.js';
import { rootOf } from './merkle.js';
import { type SealedTree } from './note.js';
import { type Signers } from './signers.js';
import { readEdges, readStoredTrees, type StoredTree, writeTiles } from './stored-trees.js';
import { GrowingTree } from './tiles.js';

/** After this many steps, other work of this process gets a turn. */
export const TURN = 50;

export type Refused = { organizationId: string; reason: Refusal };

/** A tree that grows from the last signed state to the next one. */
export type Growing = Base & { organizationId: string; last: StoredTree['last']; growing: GrowingTree };

/**
 * The next leaves of the trees, by organization. `reached`: each tree then has all its leaves up to this
 * position.
 */
export type Leaves = { leaves: ReadonlyMap<string, readonly LeafRow[]>; reached: number; isLast: boolean };

/** Loads the trees as they were last signed, if everything stored agrees. */
export async function openTrees(
  transaction: Sql,
  signers: Signers,
  organizationIds: readonly string[],
  upTo: number,
): Promise<{ trees: Growing[]; refused: Refused[] }> {
  const refused: Refused[] = [];
  const bases: (Base & Pick<Growing, 'organizationId' | 'last'>)[] = [];
  for (const [n, stored] of (await readStoredTrees(transaction, organizationIds)).entries()) {
    if (n % TURN === TURN - 1) await nextTurn();
    const { organizationId, last } = stored;
    if (stored.refused !== null) continue;
    const base = baseOf(stored, signers, upTo);
    if (typeof base === 'string') refused.push({ organizationId, reason: base });
    else bases.push({ ...base, organizationId, last });
  }
  const edges = await readEdges(
    transaction,
    bases.map(({ organizationId, tree }) => ({ organizationId, size: tree?.size ?? 0 })),
  );
  const trees: Growing[] = [];
  for (const base of bases) {
    const { organizationId, tree } = base;
    const growing = new GrowingTree(tree?.size ?? 0, edges.get(organizationId)!);
    if (!tree || (await growing.leadsTo(tree.root))) trees.push({ ...base, growing });
    else refused.push({ organizationId, reason: REFUSALS.tiles });
  }
  return { trees, refused };
}

/**
 * Appends the leaves to the trees, and stores and signs the results.
 *
 * @returns the organizations whose leaves do not match.
 */
export async function signTrees(
  transaction: Sql,
  signers: Signers,
  trees: readonly Growing[],
  { leaves, reached, isLast }: Leaves,
  sealedAt: Date,
): Promise<Refused[]> {
  const refused: Refused[] = [];
  const sealed: { tree: SealedTree; isNew: boolean; note: string; before: number }[] = [];
  const unsealed: string[] = [];
  for (const [n, { organizationId, growing, tree: base, signed, last }] of trees.entries()) {
    if (n % TURN === TURN - 1) await nextTurn();
    const isRight = await grow(growing, leaves.get(organizationId) ?? [], last ? [last] : []);
    // Sealed events are missing.
    const isShort = last !== undefined && last.position <= reached && growing.size < last.size;
    if (!isRight || isShort) {
      refused.push({ organizationId, reason: REFUSALS.events });
      growing.changed.clear();
      continue;
    }
    const { size } = growing;
    if (size === 0) {
      unsealed.push(organizationId);
      continue;
    }
    const isNew = size !== base?.size && size !== last?.size;
    const tree = isNew
      ? {
          ...{ organizationId, size, root: await rootOf(size, growing.read), position: reached },
          sealedAt: latestOf(sealedAt, base, last),
        }
      : size === last!.size
        ? last!
        : base!;
    const note = size === signed?.size && signed.isSignedByAll ? signed.note : signers.signCheckpoint(tree);
    sealed.push({ tree, isNew, note, before: base?.size ?? 0 });
  }
  await writeTiles(
    transaction,
    trees.flatMap(({ organizationId, growing }) =>
      [...growing.changed.values()].map((tile) => [organizationId, tile] as const),
    ),
  );
  await writeSeals(
    transaction,
    sealed.filter(({ isNew }) => isNew).map(({ tree, before }) => ({ ...tree, before })),
  );
  await writeNotes(
    transaction,
    [
      ...sealed.map(({ tree, note }) => [tree.organizationId, note] as const),
      ...unsealed.map((id) => [id, null] as const),
    ],
    isLast,
  );
  return refused;
}

/** No tree is sealed before one that it contains, even if the database's clock was set back. */
function latestOf(time: Date, ...sealed: readonly ({ sealedAt: Date } | null | undefined)[]): Date {
  return new Date(Math.max(time.getTime(), ...sealed.map((one) => one?.sealedAt.getTime() ?? 0)));
}

/**
 * Stores seals. Of the unpublished seals of a day, only the last one is kept.
 *
 * @param seals `before`: the size of the previous seal.
 */
async function writeSeals(
  transaction: Sql,
  seals: readonly (SealedTree & { before: number })[],
): Promise<void> {
  if (seals.length === 0) return;
  const ids = seals.map(({ organizationId }) => organizationId);
  await transaction.query(
    `INSERT INTO seals (organization_id, size, root, position, sealed_at, kept)
     SELECT organization_id, size, root, position, sealed_at, false
     FROM unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bigint[], $5::timestamptz[])
       AS seal(organization_id, size, root, position, sealed_at)
     ON CONFLICT DO NOTHING`,
    [
      ids,
      seals.map(({ size }) => size),
      seals.map(({ root }) => root),
      seals.map(({ position }) => position),
      seals.map(({ sealedAt }) => sealedAt),
    ],
  );
  await transaction.query(
    `DELETE FROM seals s USING unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS next(organization_id, before, sealed_at)
     WHERE s.organization_id = next.organization_id AND s.size = next.before AND NOT s.kept
       AND (s.sealed_at AT TIME ZONE 'UTC')::date = (next.sealed_at AT TIME ZONE 'UTC')::date`,
    [ids, seals.map(({ before }) => before), seals.map(({ sealedAt }) => sealedAt)],
  );
}

/** @param isLast whether the trees have all their events. Otherwise they are due again. */
async function writeNotes(
  transaction: Sql,
  notes: readonly (readonly [organizationId: string, note: string | null])[],
  isLast: boolean,
): Promise<void> {
  if (notes.length === 0) return;
  await transaction.query(
    `INSERT INTO signed_notes AS n (organization_id, note, look_at)
     SELECT organization_id, note, CASE WHEN $3 THEN NULL ELSE clock_timestamp() END
     FROM unnest($1::uuid[], $2::text[]) AS signed(organization_id, note)
     ON CONFLICT (organization_id) DO UPDATE SET note = excluded.note, look_at = excluded.look_at,
       logged = n.logged AND n.note IS NOT DISTINCT FROM excluded.note`,
    [notes.map(([id]) => id), notes.map(([, note]) => note), isLast],
  );
}
