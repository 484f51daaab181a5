import { type LoggerService } from '@nestjs/common';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { describeError, inTransaction, Lease, type Sql, type TroubleLog } from '#libs/database';
import {
  type Base,
  baseOf,
  grow,
  isAsLate,
  leafOf,
  leafOfCheckpoint,
  type LeafRow,
  type Refusal,
  REFUSALS,
} from './growth.js';
import { rootOf } from './merkle.js';
import { Mending } from './mending.js';
import { ALL_ORGANIZATIONS, nameOf, type SealedTree } from './note.js';
import { type SignedTree, type Signers } from './signers.js';
import { reachOf, readEdges, readStoredTrees, type StoredTree, writeTiles } from './stored-trees.js';
import { GrowingTree } from './tiles.js';

/**
 * A block ends after so long, or after so many events: PostgreSQL takes whoever hashes for seconds for gone, and on a busy
 * machine that takes fifty times as long as on an idle one.
 */
const SEAL_EVERY_MS = 3_000;
const LARGEST_BLOCK = 2_500;
/** Organizations at a time, for the same reason: each has a signature to verify and one to make. */
const MOST_ORGANIZATIONS = 500;
/** Whoever else wants to compute gets a turn after so many. */
const TURN = 50;

type Block = { isLast: boolean; refused: Refused[] };
type Refused = { organizationId: string; reason: Refusal };

/** A tree while it grows, from what it rests on to what will be signed. */
type Growing = Base & { organizationId: string; last: StoredTree['last']; growing: GrowingTree };

/** The leaves that trees are to have next, by organization, and how far they reach: each tree has all of its own up to there. */
type Leaves = { leaves: ReadonlyMap<string, readonly LeafRow[]>; reached: number; isLast: boolean };

export type Progress = {
  /** How far sealing is, of all instances together, and the last position given out so far. */
  sealed: number;
  last: number;
  /** Organizations of which nothing is sealed, because it would not follow from what was signed before. */
  refused: number;
};

export type RefusedOrganization = { organizationId: string; since: Date; reason: string };

/**
 * Closes blocks over the log: the events of each organization become leaves of its Merkle tree, and its root is signed.
 * The row of `sealing` is the lease: whoever holds its lock seals, on any instance.
 *
 * Whoever can write to the database can write whatever they like into its tables. So a signature rests on the one before
 * it, and on events: what else stands there is compared with these, and where it does not agree nothing is signed.
 *
 * What was signed of each organization becomes a leaf of one more tree, the log of all organizations: so that none can vanish.
 */
export class Sealer {
  private readonly stopping = new AbortController();
  private running: Promise<unknown> | undefined;
  private readonly lease: Lease;
  private readonly mending: Mending;
  /** What the background saw last: asks nobody. */
  lastSeen: Progress | undefined;

  constructor(
    private readonly source: DataSource,
    readonly signers: Signers,
    private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>,
    private readonly troubles?: TroubleLog,
  ) {
    this.lease = new Lease('sealing', source);
    this.mending = new Mending(source, this.lease, signers, logger, this.stopping.signal);
  }

  /** Starts to seal in the background, and to look at what is not sealed. */
  start(): void {
    let isMarked = false;
    this.running = Promise.all([
      this.untilStopped('history not sealed', async () => {
        if (!isMarked) await this.markUnsigned();
        isMarked = true;
        await this.seal({ ifFree: true });
        this.lastSeen = await this.progress();
      }),
      this.untilStopped('checkpoints not added to the log of all organizations', () => this.logAll()),
      this.untilStopped('refused histories not looked at', () => this.mending.run()),
    ]);
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
    while (!(await this.run(() => this.sealBlock(ifFree))));
  }

  /** Adds the checkpoint of an organization, if it is not there yet, to the log of all, and those of others with it. */
  async log(organizationId: string): Promise<void> {
    await this.run(() => this.logBlock(organizationId));
  }

  /** Adds all that was signed since to the log of all organizations, block by block: others seal in between. */
  async logAll(): Promise<void> {
    while (!this.stopping.signal.aborted && !(await this.run(() => this.logBlock())));
  }

  /** @returns whether this block was the last one. */
  private async run(work: () => Promise<Block>): Promise<boolean> {
    const { isLast, refused } = await this.lease.run(work);
    for (const { organizationId, reason } of refused) this.mending.tell(organizationId, reason);
    return isLast;
  }

  /** Seals, and signs what an earlier version has sealed of this organization, or another key has signed. */
  async sign(organizationId: string): Promise<void> {
    await this.source.query(
      `INSERT INTO signed_notes AS n (organization_id, look_at) VALUES ($1, clock_timestamp())
       ON CONFLICT (organization_id) DO UPDATE SET look_at = clock_timestamp() WHERE n.refused IS NULL`,
      [organizationId],
    );
    await this.seal();
    await this.log(organizationId);
  }

  /** Looks now at an organization, if nothing of it is sealed; mended, it is sealed. @returns why it still is not. */
  async mend(organizationId: string): Promise<string | undefined> {
    await this.mending.lookAt(organizationId);
    await this.seal();
    await this.log(organizationId);
    const [stored] = await readStoredTrees(this.source, [organizationId]);
    return stored!.refused ?? undefined;
  }

  /** Seals no more of an organization until it was looked at: its tiles were found not to lead where they should. */
  async distrust(organizationId: string): Promise<void> {
    const isNew = await this.lease.run(() =>
      inTransaction(this.source, { idle: this.lease.patienceMs }, async (transaction) => {
        await transaction.query('SELECT FROM sealing FOR UPDATE');
        const [stored] = await readStoredTrees(transaction, [organizationId]);
        if (stored!.refused !== null) return false;
        await refuse(transaction, [{ organizationId, reason: REFUSALS.tiles }]);
        return true;
      }),
    );
    if (isNew) this.mending.tell(organizationId, REFUSALS.tiles);
  }

  /**
   * Whether the keys are those that sign here. Notes that somebody spoiled say nothing against them: their organizations are
   * refused, and no more than that.
   */
  async isSignerOfDatabase(): Promise<boolean> {
    const rows = await this.source.query<{ note: string }[]>(
      'SELECT note FROM signed_notes WHERE note IS NOT NULL LIMIT 20',
    );
    return rows.length === 0 || rows.some(({ note }) => !this.signers.isOfOthers(note));
  }

  async progress(sql: Sql = this.source): Promise<Progress> {
    const [row] = await sql.query<{ sealed: string; last: string; refused: string }[]>(
      `SELECT (SELECT position FROM sealing) AS sealed, last_position() AS last,
              (SELECT count(*) FROM signed_notes WHERE refused IS NOT NULL) AS refused`,
    );
    return { sealed: Number(row!.sealed), last: Number(row!.last), refused: Number(row!.refused) };
  }

  /** The first hundred of which nothing is sealed. */
  async refused(): Promise<RefusedOrganization[]> {
    const rows = await this.source.query<{ organization_id: string; refused_at: Date; refused: string }[]>(
      `SELECT organization_id, refused_at, refused FROM signed_notes WHERE refused IS NOT NULL
       ORDER BY refused_at, organization_id LIMIT 100`,
    );
    return rows.map(({ organization_id, refused_at, refused }) => ({
      organizationId: nameOf(organization_id),
      since: refused_at,
      reason: refused,
    }));
  }

  private async sealBlock(ifFree: boolean): Promise<Block> {
    return inTransaction(this.source, { idle: this.lease.patienceMs }, async (transaction) => {
      const [lease] = await transaction.query<{ position: string }[]>(
        `SELECT position FROM sealing FOR UPDATE ${ifFree ? 'SKIP LOCKED' : ''}`,
      );
      if (!lease) return { isLast: true, refused: [] };
      // A statement of its own, before the events are read: see event_horizon().
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
      // Nobody appends there: its leaves are no events.
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

  /** Adds the events that each organization has up to `upTo` to its tree, or as many as a block may have, and signs it. */
  private async sealOrganizations(
    transaction: Sql,
    organizationIds: readonly string[],
    upTo: number,
    sealedAt: Date,
  ): Promise<Block> {
    const { trees, refused } = await this.openTrees(transaction, organizationIds, upTo);
    const leaves = await readLeaves(transaction, trees, upTo);
    refused.push(...(await this.signTrees(transaction, trees, leaves, sealedAt)));
    await refuse(transaction, refused);
    return { isLast: leaves.isLast, refused };
  }

  /**
   * Adds what was signed of organizations since to the log of all of them: of the one that is named first, and of as many
   * others as a block may have.
   */
  private async logBlock(first: string | null = null): Promise<Block> {
    return inTransaction(this.source, { idle: this.lease.patienceMs }, async (transaction) => {
      await transaction.query('SELECT FROM sealing FOR UPDATE');
      const due = await transaction.query<{ organization_id: string; note: string | null }[]>(NOT_LOGGED, [
        first,
        ALL_ORGANIZATIONS,
        MOST_ORGANIZATIONS,
      ]);
      if (due.length === 0) return { isLast: true, refused: [] };
      const reached = await reachOf(transaction, ALL_ORGANIZATIONS);
      const { trees, refused } = await this.openTrees(transaction, [ALL_ORGANIZATIONS], reached);
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
        refused.push(...(await this.signTrees(transaction, [all], added, now!.time)));
      }
      await refuse(transaction, refused);
      return { isLast: !all || due.length < MOST_ORGANIZATIONS, refused };
    });
  }

  /** What notes say that are ours and whose organizations have no leaf of a later one; for some their leaf is there already. */
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

  /** Adds the leaves to the trees, writes what has changed, and signs it. @returns those that they do not fit to. */
  private async signTrees(
    transaction: Sql,
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
      // Events that were sealed are gone.
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
        ? { organizationId, size, root: await rootOf(size, growing.read), position: reached, sealedAt }
        : size === last!.size
          ? last!
          : base!;
      const note =
        size === signed?.size && signed.isSignedByAll ? signed.note : this.signers.signCheckpoint(tree);
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

  /** The trees as they were signed last, where everything stored agrees with that. */
  private async openTrees(
    transaction: Sql,
    organizationIds: readonly string[],
    upTo: number,
  ): Promise<{ trees: Growing[]; refused: Refused[] }> {
    const refused: Refused[] = [];
    const bases: (Base & Pick<Growing, 'organizationId' | 'last'>)[] = [];
    for (const [n, stored] of (await readStoredTrees(transaction, organizationIds)).entries()) {
      if (n % TURN === TURN - 1) await nextTurn();
      const { organizationId, last } = stored;
      if (stored.refused !== null) continue;
      const base = baseOf(stored, this.signers, upTo);
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

  private async markUnsigned(): Promise<void> {
    await this.lease.run(() =>
      inTransaction(this.source, { idle: this.lease.patienceMs }, async (transaction) => {
        // Whoever seals locks the same rows, in another order.
        await transaction.query('SELECT FROM sealing FOR UPDATE');
        await markUnsigned(transaction, this.signers.marks);
      }),
    );
  }

  private async untilStopped(failure: string, work: () => Promise<void>): Promise<void> {
    const { signal } = this.stopping;
    let failing = false;
    while (!signal.aborted) {
      try {
        await work();
        failing = false;
      } catch (error) {
        const isTold = signal.aborted || this.troubles?.tell(error) === true;
        // Said once, not every few seconds.
        if (!failing && !isTold) this.logger.warn({ message: failure, reason: describeError(error) });
        failing = true;
      }
      await sleep(SEAL_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** What earlier versions sealed, or not all of today's keys have signed, is signed before anybody can change it. */
async function markUnsigned(transaction: Sql, marks: readonly string[]): Promise<void> {
  await transaction.query(
    // From one organization to the next by the primary key: the table may have a row for every few seconds of each.
    `WITH RECURSIVE organization (id) AS (
       (SELECT organization_id FROM seals ORDER BY organization_id LIMIT 1)
       UNION ALL
       SELECT (SELECT s.organization_id FROM seals s WHERE s.organization_id > o.id
               ORDER BY s.organization_id LIMIT 1)
       FROM organization o WHERE o.id IS NOT NULL
     )
     INSERT INTO signed_notes (organization_id, look_at)
     SELECT id, clock_timestamp() FROM organization WHERE id IS NOT NULL ON CONFLICT DO NOTHING`,
  );
  await transaction.query(
    `UPDATE signed_notes SET look_at = clock_timestamp()
     WHERE refused IS NULL AND
       (note IS NULL OR EXISTS (SELECT FROM unnest($1::text[]) AS mark WHERE strpos(note, mark) = 0))`,
    [marks],
  );
}

/** The next events of several trees up to a position, a block of them at most. */
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

// The log itself only to be signed again, by another key.
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

/** @param after the number of the last leaf. @returns what is new, numbered on from there. */
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

/** Of the seals of a day that nobody was handed the last one stays. @param seals with the size of the one `before`. */
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

/** @param isLast the trees have all of their events; otherwise they are looked at again. */
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

/** They are looked at as soon as somebody can. */
async function refuse(transaction: Sql, refused: readonly Refused[]): Promise<void> {
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
