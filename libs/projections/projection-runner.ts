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
import {
  type EventRow,
  type EventStore,
  type RecordedEvent,
  type UnreadablePersonalData,
} from '#libs/event-store';
import { PageSize } from './page-size.js';
import { type Projection, schemaOf } from './projection.js';

/** If a statement takes longer, the page is halved. */
const PAGE_LIMITS = { statement: 60_000 };
/** Between two checks of a horizon that another instance's append still holds back. */
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
/** A page without what its events contain. `found`: position and id of each, or null if there are none. */
type LeanAdvance = Advance & { found: string | null };

type Progress = { position: number; horizon: number };

/**
 * Advances one projection. The lock of its checkpoint row is the lease: one instance at a time does the work. If it
 * crashes, its connection closes and releases the lock.
 */
export class ProjectionRunner {
  /** The checkpoint as this process last saw it. */
  private position = 0;
  private running: Promise<Progress> | undefined;
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
      unreadable(this: void, projection: Projection, error: UnreadablePersonalData): void;
    },
  ) {}

  /** Creates the tables and the checkpoint of this version, once across all instances. */
  async prepare(): Promise<void> {
    const schema = schemaOf(this.projection);
    // The lock waits for an instance that is dropping the version.
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
   * Read your writes: resolves when the projection contains everything up to `position`, on whichever instance that was
   * applied. Resolves immediately while the projection fails, because commands do not wait for a broken projection.
   */
  async catchUp(position: number): Promise<void> {
    while (this.position < position && !this.failing) {
      const before = this.position;
      const { position: reached, horizon } = await this.advance();
      if (reached === before && horizon < position) await sleep(HORIZON_PAUSE_MS);
    }
  }

  /** Works until the horizon is reached. For background work and the start. A failing event is recorded in the status. */
  async catchUpToHorizon(): Promise<void> {
    for (;;) {
      const { position, horizon } = await this.advance();
      if (position >= horizon || this.failing) return;
    }
  }

  /** Records the checkpoint's state as just read, so that a request need not read it again. */
  observe({ position, failure }: Pick<ProjectionStatus, 'position' | 'failure'>): void {
    this.position = Math.max(this.position, position);
    // Another process repaired it, for example by a rebuild.
    if (this.failing && !failure) this.recover();
  }

  private recover(): void {
    this.failing = false;
    this.on.recovered(this.projection);
  }

  /** Applies one page. Concurrent callers in this process share it. */
  private advance(): Promise<Progress> {
    this.running ??= this.advanceOnePage().finally(() => (this.running = undefined));
    return this.running;
  }

  private async advanceOnePage(): Promise<Progress> {
    // Known before the events are read, because an unreadable event counts as a failure like any other.
    let positions: number[] = [];
    let arrivedAt = 0;
    const isLean = !this.store.appends.justWritten.isEmpty;
    try {
      const work = async (
        transaction: Transaction,
        rows: (LeanAdvance | (Advance & EventRow))[],
      ): Promise<Progress> => {
        arrivedAt = performance.now();
        const found = await this.eventsOf(rows, transaction);
        positions = found.map(({ position }) => Number(position));
        const { events: page, left } = this.store.rows.readable(found, (error) =>
          this.on.unreadable(this.projection, error),
        );
        if (left) this.on.skipped(this.projection, left);
        if (page.length > 0) await this.projection.apply(page, transaction, this.store.rows.seal);
        await this.eraseFromEarlier(page, transaction);
        return { position: Number(rows[0]!.reached), horizon: Number(rows[0]!.horizon) };
      };
      const progress = await this.lease.run(() =>
        inTransactionFrom(this.source, PAGE_LIMITS, this.advanceStatement(isLean), work),
      );
      this.position = Math.max(this.position, progress.position);
      this.pageSize.fit(performance.now() - arrivedAt);
      if (this.failing) this.recover();
      return progress;
    } catch (error) {
      // A waiting instance may have ended this one as frozen. A smaller page is faster to send and to apply.
      if (isUnavailable(error)) this.pageSize.halve();
      if (positions.length === 0) throw error;
      // The connection broke during the page. Retry immediately, which fails if the database is unavailable.
      if (isConnectionLost(error)) return { position: this.position, horizon: positions.at(-1)! };
      // A full disk stays full. The next request or the background work retries.
      if (isUnavailable(error)) throw error;
      return this.narrowDown(positions, error);
    }
  }

  private eventsOf(
    rows: readonly (LeanAdvance | (Advance & EventRow))[],
    transaction: Transaction,
  ): Promise<EventRow[]> {
    const [first] = rows;
    if (!('found' in first!))
      return Promise.resolve((rows as readonly EventRow[]).filter(({ position }) => position !== null));
    const found = (first.found?.split(',') ?? []).map((one) => {
      const [position, id] = one.split(' ');
      return { position: position!, id: id! };
    });
    return this.store.recall(found, transaction);
  }

  /**
   * Returns one row per event, or a single row without an event if the page is empty.
   *
   * @param isLean if this process has just stored many events: returns a single `LeanAdvance`.
   */
  private advanceStatement(isLean: boolean): string {
    const { name, version, handles } = this.projection;
    const { timeoutMs } = this.lease;
    const path = `${schemaOf(this.projection)}, public`;
    const columns = isLean
      ? `max(a.reached) AS reached, max(a.horizon) AS horizon,
         string_agg((a.event).position || ' ' || (a.event).event_id, ',') AS found`
      : 'a.reached, a.horizon, (a.event).*, a.wrapped_key';
    return `SELECT ${columns}
      FROM advance_checkpoint(${literal(name)}, ${version}, ARRAY[${handles.map(literal).join(', ')}]::text[],
        ${this.pageSize.limit}, '${timeoutMs}', ${literal(path)}) a`;
  }

  /**
   * Erases people from the tables of earlier versions as long as those exist. Under their leases: pages that their
   * instances read before the erasure are applied before it, and later pages contain nothing of the person. Every version
   * takes the leases from the highest version down, which prevents deadlocks.
   */
  private async eraseFromEarlier(page: readonly RecordedEvent[], transaction: Transaction): Promise<void> {
    const { name, erasure } = this.projection;
    const erased = page.filter(({ type }) => type === erasure?.event);
    if (!erasure || erased.length === 0) return;
    const persons = [erased.map((event) => event.organizationId), erased.map((event) => event.streamId)];
    const versions = Object.keys(erasure.earlier).map(Number);
    for (const version of versions.sort((one, other) => other - one)) {
      const found = await transaction.query<unknown[]>(
        'SELECT FROM public.checkpoints WHERE projection = $1 AND version = $2 FOR UPDATE',
        [name, version],
      );
      if (found.length === 0) continue;
      const path = `${schemaOf({ name, version })}, public`;
      await transaction.query(`SELECT set_config('search_path', $1, true)`, [path]);
      await transaction.query(erasure.earlier[version]!, persons);
    }
  }

  /** Halves the page until the failing event is found, so that all events before it are applied. */
  private async narrowDown(positions: readonly number[], error: unknown): Promise<Progress> {
    const position = positions.at(-1)!;
    if (isCollision(error)) throw error;
    if (positions.length > 1) {
      this.pageSize.halve(positions.length);
      return { position: this.position, horizon: position };
    }
    // A single event that takes too long may only be waiting for a lock. Retry it.
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
