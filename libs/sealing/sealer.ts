import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { describeError, inTransaction, Lease, literal, type Sql, type IncidentLog } from '#libs/database';
import { type Pulse } from '#libs/event-store';
import { Worker } from '#libs/work';
import { type Block, Blocks, refuse } from './blocks.js';
import { REFUSALS } from './growth.js';
import { Mending } from './mending.js';
import { ALL_ORGANIZATIONS, logNameOf } from './note.js';
import { type Signers } from './signers.js';
import { readStoredTrees } from './stored-trees.js';

/** The pause between two blocks, unless a block is full. */
const SEAL_EVERY_MS = 3_000;
/** The maximum age of `lastSeen`. */
const POLL_MS = 60_000;

/**
 * SQL: whether there is anything to seal, to add to the log of all organizations, or to check again. See the
 * indexes of `signed_notes`.
 */
const UNSIGNED = `EXISTS (SELECT FROM signed_notes n WHERE n.look_at <= clock_timestamp() AND n.refused IS NULL)`;
const UNSEALED = `(SELECT position FROM sealing) < h.horizon OR ${UNSIGNED}`;
const UNLOGGED = `EXISTS (SELECT FROM signed_notes n WHERE NOT n.logged AND n.note IS NOT NULL AND n.refused IS NULL
  AND n.organization_id <> ${literal(ALL_ORGANIZATIONS)}) OR ${UNSIGNED}`;
const TO_MEND = `EXISTS (SELECT FROM signed_notes n WHERE n.look_at <= clock_timestamp() AND n.refused IS NOT NULL)`;

export type Progress = {
  /** How far all instances together have sealed, and the last position allocated so far. */
  sealed: number;
  last: number;
  /** Quarantined organizations: sealing more would not follow from what was signed before. */
  refused: number;
};

export type RefusedOrganization = { organizationId: string; since: Date; reason: string };

/**
 * Seals the log in blocks. Each organization's events become leaves of its Merkle tree, and the tree's root is
 * signed. The row of `sealing` is the lease: the instance that holds its lock seals.
 *
 * Anyone who can write to the database can write anything into its tables. So each signature builds only on the
 * previous one and on events. Everything else is compared with these, and if it differs, nothing is signed.
 *
 * Each organization's checkpoints become leaves of another tree, the log of all organizations, so that no
 * organization can disappear.
 */
export class Sealer {
  private readonly worker: Worker;
  private readonly lease: Lease;
  private readonly blocks: Blocks;
  private readonly mending: Mending;
  /** As of the last poll. Reading it costs no query. */
  lastSeen: Progress | undefined;

  constructor(
    private readonly source: DataSource,
    readonly signers: Signers,
    logger: Pick<LoggerService, 'log' | 'warn' | 'error'>,
    incidents?: IncidentLog,
  ) {
    this.worker = new Worker((error, message, isRepeated) => {
      if (!isRepeated) logger.warn({ message, reason: describeError(error) });
    }, incidents);
    this.lease = new Lease('sealing', source);
    this.blocks = new Blocks(source, this.lease, signers);
    this.mending = new Mending(source, this.lease, signers, logger, this.worker.signal);
  }

  /** Starts sealing in the background, and checks quarantined organizations. */
  start(pulse: Pulse): void {
    let isMarked = false;
    const start = (failure: string, question: string, work: () => Promise<void>) => {
      const poller = pulse.watch(question);
      const wait = async (hasFailed: boolean) => {
        await this.worker.pause(SEAL_EVERY_MS);
        // Another instance may be sealing.
        const isBehind = this.lastSeen !== undefined && this.lastSeen.sealed < this.lastSeen.last;
        if (!hasFailed) await poller.next(this.worker.signal, isBehind ? SEAL_EVERY_MS : POLL_MS);
      };
      this.worker.start(work, wait, failure);
    };
    start('history not sealed', UNSEALED, async () => {
      if (!isMarked) await this.markUnsigned();
      isMarked = true;
      await this.seal({ ifFree: true });
      this.lastSeen = await this.progress();
    });
    start('checkpoints not added to the log of all organizations', UNLOGGED, () => this.logAll());
    start('checking quarantined histories failed', TO_MEND, () => this.mending.run());
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  /**
   * Seals everything up to the current horizon.
   *
   * @param ifFree returns immediately if another instance is sealing, instead of waiting for it.
   */
  async seal({ ifFree = false } = {}): Promise<void> {
    while (!(await this.run(() => this.blocks.seal(ifFree))));
  }

  /**
   * Adds an organization's checkpoint to the log of all organizations, if it is missing, and some of others
   * with it.
   */
  async log(organizationId: string): Promise<void> {
    await this.run(() => this.blocks.log(organizationId));
  }

  /**
   * Adds all new checkpoints to the log of all organizations, block by block, so that sealing can run in
   * between.
   */
  async logAll(): Promise<void> {
    while (!this.worker.signal.aborted && !(await this.run(() => this.blocks.log())));
  }

  /** @returns whether this block was the last one. */
  private async run(work: () => Promise<Block>): Promise<boolean> {
    const { isLast, refused } = await this.lease.run(work);
    for (const { organizationId, reason } of refused) this.mending.report(organizationId, reason);
    return isLast;
  }

  /** Seals, and signs an organization's tree if an earlier version sealed it or another key signed it. */
  async sign(organizationId: string): Promise<void> {
    await this.source.query(
      `INSERT INTO signed_notes AS n (organization_id, look_at) VALUES ($1, clock_timestamp())
       ON CONFLICT (organization_id) DO UPDATE SET look_at = clock_timestamp() WHERE n.refused IS NULL`,
      [organizationId],
    );
    await this.seal();
    await this.log(organizationId);
  }

  /**
   * Checks a quarantined organization now, and seals it if it could be repaired.
   *
   * @returns why it is still quarantined.
   */
  async mend(organizationId: string): Promise<string | undefined> {
    await this.mending.check(organizationId);
    await this.seal();
    await this.log(organizationId);
    const [stored] = await readStoredTrees(this.source, [organizationId]);
    return stored!.refused ?? undefined;
  }

  /**
   * Quarantines an organization until it has been checked, because its tiles do not lead to the signed root.
   */
  async distrust(organizationId: string): Promise<void> {
    const isNew = await this.lease.run(() =>
      inTransaction(this.source, { idle: this.lease.timeoutMs }, async (transaction) => {
        await transaction.query('SELECT FROM sealing FOR UPDATE');
        const [stored] = await readStoredTrees(transaction, [organizationId]);
        if (stored!.refused !== null) return false;
        await refuse(transaction, [{ organizationId, reason: REFUSALS.tiles }]);
        return true;
      }),
    );
    if (isNew) this.mending.report(organizationId, REFUSALS.tiles);
  }

  /**
   * Whether our keys sign this database. Altered notes do not count against the keys: only their organizations
   * are quarantined.
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

  /** The first hundred quarantined organizations. */
  async refused(): Promise<RefusedOrganization[]> {
    const rows = await this.source.query<{ organization_id: string; refused_at: Date; refused: string }[]>(
      `SELECT organization_id, refused_at, refused FROM signed_notes WHERE refused IS NOT NULL
       ORDER BY refused_at, organization_id LIMIT 100`,
    );
    return rows.map(({ organization_id, refused_at, refused }) => ({
      organizationId: logNameOf(organization_id),
      since: refused_at,
      reason: refused,
    }));
  }

  private async markUnsigned(): Promise<void> {
    await this.lease.run(() =>
      inTransaction(this.source, { idle: this.lease.timeoutMs }, async (transaction) => {
        // Sealing locks the same rows in another order.
        await transaction.query('SELECT FROM sealing FOR UPDATE');
        await markUnsigned(transaction, this.signers.marks);
      }),
    );
  }
}

/**
 * Marks trees that earlier versions sealed or that not all current keys have signed, so that they are signed
 * before anyone can alter them.
 */
async function markUnsigned(transaction: Sql, marks: readonly string[]): Promise<void> {
  await transaction.query(
    // Jumps from one organization to the next by the primary key: the table can have a row per organization for
    // every few seconds.
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
