import {
  type DataSource,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, exclusively, inTransaction, isUnavailable, type Sql } from '#libs/database';
import { type EventRow, type EventStore, type RecordedEvent } from '#libs/event-store';
import { type Projection, schemaOf } from './projection.js';

/** Events of one transaction: large enough to be set-based, small enough that nobody waits long. */
const PAGE = 5_000;
/** A page that takes longer is halved. */
const PAGE_LIMITS = { statement: 60_000 };
/** A worker that hangs inside its transaction loses its connection, and with it the lease. */
const HUNG_AFTER_MS = 10_000;
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

/** One row an event; a single one without an event where the page is empty. */
const ADVANCE = `
  SELECT a.reached, a.horizon, (a.event).*, a.wrapped_key
  FROM advance_checkpoint($1, $2, $3, $4, $5, $6) a`;
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
  private pageLimit = PAGE;

  constructor(
    readonly projection: Projection,
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly on: {
      failed(this: void, projection: Projection, position: number, error: unknown): void;
      recovered(this: void, projection: Projection): void;
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
    this.flight ??= this.watched(this.advanceOnePage()).finally(() => (this.flight = undefined));
    return this.flight;
  }

  /** Whoever waits for the lease unusually long looks whether its holder hangs. */
  private async watched(flight: Promise<Progress>): Promise<Progress> {
    const watch = setInterval(() => void this.endHungWorkers().catch(() => undefined), HUNG_AFTER_MS);
    try {
      return await flight;
    } finally {
      clearInterval(watch);
    }
  }

  /**
   * A worker that is stopped while PostgreSQL sends it a page counts as active, so the timeout of idle
   * transactions never ends it: its connections are ended from here. PostgreSQL lets a role do that to its own.
   */
  private async endHungWorkers(): Promise<void> {
    await this.source.query(
      `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
       WHERE a.datname = current_database() AND a.wait_event = 'ClientWrite'
         AND a.xact_start < clock_timestamp() - make_interval(secs => $1)
         AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'checkpoints'::regclass)`,
      [HUNG_AFTER_MS / 1_000],
    );
  }

  private async advanceOnePage(): Promise<Progress> {
    const { name, version, handles } = this.projection;
    // Known before the events are read: one that cannot be read is a failure like any other.
    let positions: number[] = [];
    try {
      const progress = await inTransaction(this.source, PAGE_LIMITS, async (transaction) => {
        const path = `${schemaOf(this.projection)}, public`;
        const rows = await transaction.query<(Advance & EventRow)[]>(ADVANCE, [
          name,
          version,
          handles,
          this.pageLimit,
          String(HUNG_AFTER_MS),
          path,
        ]);
        const found = rows.filter(({ position }) => position !== null);
        positions = found.map(({ position }) => Number(position));
        const page = this.store.read(found);
        if (page.length > 0) await this.projection.apply(page, transaction, this.store.seal);
        await this.eraseFromEarlier(page, transaction);
        return { position: Number(rows[0]!.reached), horizon: Number(rows[0]!.horizon) };
      });
      this.position = Math.max(this.position, progress.position);
      this.pageLimit = Math.min(PAGE, this.pageLimit * 2);
      if (this.failing) this.recover();
      return progress;
    } catch (error) {
      if (positions.length === 0 || isConnectionLost(error)) throw error;
      return this.narrowDown(positions, error);
    }
  }

  /**
   * An erasure must reach the tables of earlier versions as long as they stand. Under their leases: a page that an
   * instance of theirs read before the erasure is applied before, and those read after it hold nothing of the person.
   * From the highest version down, as every version that does this.
   */
  private async eraseFromEarlier(page: readonly RecordedEvent[], transaction: Sql): Promise<void> {
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
    if (positions.length > 1) {
      this.pageLimit = Math.ceil(positions.length / 2);
      return { position: this.position, horizon: position };
    }
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

/** Of a connection that breaks between two statements of a transaction TypeORM says only that it is gone. */
export function isConnectionLost(error: unknown): boolean {
  return (
    isUnavailable(error) ||
    error instanceof QueryRunnerAlreadyReleasedError ||
    error instanceof QueryRunnerProviderAlreadyReleasedError
  );
}
