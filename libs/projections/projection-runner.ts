import { type DataSource } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  describeError,
  exclusively,
  inTransactionFrom,
  isCollision,
  isConnectionLost,
  isTransient,
  isUnavailable,
  type Lease,
  literal,
  type Transaction,
} from '#libs/database';
import { type EventRow, type EventStore, type RecordedEvent } from '#libs/event-store';
import { PageSize } from './page-size.js';
import { type Projection, schemaOf } from './projection.js';

/** A page that takes longer is halved. */
const PAGE_LIMITS = { statement: 60_000 };
/** Between two looks at a horizon that another instance's append still holds back. */
const HORIZON_PAUSE_MS = 1;

export type ProjectionStatus = {
  name: string;
  version: number;
  position: number;
  /** Positions between the checkpoint and the horizon. */
  lag: number;
  failure: { position: number; message: string; at: Date } | null;
};

type Advance = { reached: string; horizon: string };

type Progress = { position: number; horizon: number };

/**
 * Advances one projection. Its checkpoint row is the lease: whoever holds the row's lock works, on any
 * instance, and a crashed worker's lock is gone with its connection.
 */
export class ProjectionRunner {
  /** The checkpoint as this process last saw it. */
  private position = 0;
  private flight: Promise<Progress> | undefined;
  private failing = false;
  private readonly pageSize = new PageSize();

  constructor(
    readonly projection: Projection,
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly lease: Lease,
    private readonly on: {
      failed(this: void, projection: Projection, position: number, error: unknown): void;
      recovered(this: void, projection: Projection): void;
      skipped(this: void, projection: Projection, event: EventRow): void;
    },
  ) {}

  /** Creates the tables and the checkpoint of this version, once among all instances. */
  async prepare(): Promise<void> {
    const schema = schemaOf(this.projection);
    // Locked, to wait for whoever is dropping it.
    const prepared = await this.source.query<unknown[]>(
      'SELECT 1 FROM checkpoints WHERE projection = $1 AND version = $2 FOR KEY SHARE',
      [this.projection.name, this.projection.version],
    );
    if (prepared.length > 0) return;
    await exclusively(this.source, async (transaction) => {
      const created = (await transaction.query(
        `INSERT INTO checkpoints (projection, version, clean_position) VALUES ($1, $2, event_horizon())
         ON CONFLICT DO NOTHING RETURNING 1`,
        [this.projection.name, this.projection.version],
      )) as unknown[];
      if (created.length === 0) return;
      await transaction.query(`CREATE SCHEMA ${schema}`);
      await transaction.query(`SELECT set_config('search_path', $1, true)`, [`${schema}, public`]);
      await transaction.query(this.projection.tables);
    });
  }

  /**
   * Read your writes: resolves when the projection holds everything up to `position`, whoever did it; at
   * once while the projection fails, because commands do not wait for a broken read model.
   */
  async catchUp(position: number): Promise<void> {
    while (this.position < position && !this.failing) {
      const before = this.position;
      const { position: reached, horizon } = await this.advance();
      if (reached === before && horizon < position) await sleep(HORIZON_PAUSE_MS);
    }
  }

  /** Works until the horizon is reached; for the background and the start. Errors are kept in the status. */
  async catchUpToHorizon(): Promise<void> {
    for (;;) {
      const { position, horizon } = await this.advance();
      if (position >= horizon || this.failing) return;
    }
  }

  /** What the last look at the checkpoint found, kept so that a request need not look again. */
  observe({ position, failure }: Pick<ProjectionStatus, 'position' | 'failure'>): void {
    this.position = Math.max(this.position, position);
    // Mended by another process, a rebuild say.
    if (this.failing && !failure) this.recover();
  }

  private recover(): void {
    this.failing = false;
    this.on.recovered(this.projection);
  }

  /** One flight at a time in this process; everybody who asks meanwhile shares it. */
  private advance(): Promise<Progress> {
    this.flight ??= this.advanceOnePage().finally(() => (this.flight = undefined));
    return this.flight;
  }

  private async advanceOnePage(): Promise<Progress> {
    // Known before the events are read: one that cannot be read is a failure like any other.
    let positions: number[] = [];
    let arrivedAt = 0;
    try {
      const work = async (transaction: Transaction, rows: (Advance & EventRow)[]): Promise<Progress> => {
        arrivedAt = performance.now();
        const found = rows.filter(({ position }) => position !== null);
        positions = found.map(({ position }) => Number(position));
        const { events: page, left } = this.store.rows.readable(found);
        if (left) this.on.skipped(this.projection, left);
        if (page.length > 0) await this.projection.apply(page, transaction, this.store.rows.seal);
        await this.eraseFromEarlier(page, transaction);
        return { position: Number(rows[0]!.reached), horizon: Number(rows[0]!.horizon) };
      };
      const progress = await this.lease.run(() =>
        inTransactionFrom(this.source, PAGE_LIMITS, this.advanceStatement, work),
      );
      this.position = Math.max(this.position, progress.position);
      this.pageSize.fit(performance.now() - arrivedAt);
      if (this.failing) this.recover();
      return progress;
    } catch (error) {
      // It may have been taken for one that stands still: a smaller page is quicker to send and to work on.
      if (isUnavailable(error)) this.pageSize.halve();
      if (positions.length === 0) throw error;
      // Ended in the middle of it: again at once; that fails if the database is away.
      if (isConnectionLost(error)) return { position: this.position, horizon: positions.at(-1)! };
      // A full disk stays full; it is tried again when somebody asks, or the background looks.
      if (isUnavailable(error)) throw error;
      return this.narrowDown(positions, error);
    }
  }

  /** One row an event; a single one without an event where the page is empty. */
  private get advanceStatement(): string {
    const { name, version, handles } = this.projection;
    const { timeoutMs } = this.lease;
    const path = `${schemaOf(this.projection)}, public`;
    return `SELECT a.reached, a.horizon, (a.event).*, a.wrapped_key
      FROM advance_checkpoint(${literal(name)}, ${version}, ARRAY[${handles.map(literal).join(', ')}]::text[],
        ${this.pageSize.limit}, '${timeoutMs}', ${literal(path)}) a`;
  }

  /**
   * An erasure must reach the tables of earlier versions as long as they stand. Under their leases: a page that an
   * instance of theirs read before the erasure is applied before, and those read after it hold nothing of the person.
   * From the highest version down, as every version that does this.
   */
  private async eraseFromEarlier(page: readonly RecordedEvent[], transaction: Transaction): Promise<void> {
    const { name, erasure } = this.projection;
    const erased = page.filter(({ type }) => type === erasure?.event);
    if (!erasure || erased.length === 0) return;
    const persons = [erased.map((event) => event.organizationId), erased.map((event) => event.streamId)];
    const versions = Object.keys(erasure.earlier).map(Number);
    for (const version of versions.sort((one, other) => other - one)) {
      const stands = await transaction.query<unknown[]>(
        'SELECT FROM public.checkpoints WHERE projection = $1 AND version = $2 FOR UPDATE',
        [name, version],
      );
      if (stands.length === 0) continue;
      const path = `${schemaOf({ name, version })}, public`;
      await transaction.query(`SELECT set_config('search_path', $1, true)`, [path]);
      await transaction.query(erasure.earlier[version]!, persons);
    }
  }

  /** Halves the page until the one event that fails is found, so that all before it are applied. */
  private async narrowDown(positions: readonly number[], error: unknown): Promise<Progress> {
    const position = positions.at(-1)!;
    if (isCollision(error)) throw error;
    if (positions.length > 1) {
      this.pageSize.halve(positions.length);
      return { position: this.position, horizon: position };
    }
    // One event that takes too long says nothing against it: a lock may be in the way. It is tried again.
    if (isTransient(error)) throw error;
    await this.source.query(
      `UPDATE checkpoints SET failed_position = $3, failure = $4, failed_at = clock_timestamp()
       WHERE projection = $1 AND version = $2`,
      [this.projection.name, this.projection.version, position, describeError(error)],
    );
    if (!this.failing) {
      this.failing = true;
      this.on.failed(this.projection, position, error);
    }
    return { position: this.position, horizon: position };
  }
}
