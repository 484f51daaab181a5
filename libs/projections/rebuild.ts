import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { newId } from '#libs/random';
import {
  describeError,
  inTransaction,
  isTransient,
  isUnavailable,
  Lease,
  type Sql,
  type Transaction,
  type TransactionLimits,
} from '#libs/database';
import { type EventStore, type RecordedEvent, type UnreadablePersonalData } from '#libs/event-store';
import { takeIndexes } from './late-indexes.js';
import { PageSize } from './page-size.js';
import { type Projection, schemaOf } from './projection.js';

/** How many events may be left for the final transaction, during which everyone waits. */
const LAST_PAGE = 500;
/** Consecutive failures. With the pauses, 17 s without PostgreSQL, or a page of 5,000 events halved to 10. */
const MOST_FAILURES = 10;
const FIRST_RETRY_PAUSE_MS = 100;
const LONGEST_RETRY_PAUSE_MS = 4_000;
/** Differences to report. A few are enough to show that a projection is broken. */
const MOST_DIFFERENCES = 100;
/**
 * A builder that is silent for longer has stopped. While it applies a page, it holds the lock, which is not silence.
 */
const SILENT_SECONDS = 60;
/** Other processes hold the lock only briefly. */
const MOST_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 100;
/** Longest rest between two pages with `gently`. */
const LONGEST_REST_MS = 10_000;
/** Separates these advisory locks from others. The second key is PostgreSQL's hash of the name. */
const REBUILD_LOCK = 17_751;

/** The events between two positions, already requested. */
type Page = { after: number; end: number; events: Promise<RecordedEvent[]> };

export type BuildOptions = {
  /** Called after each page with the positions of the new and the live tables. */
  onProgress?: (position: number, horizon: number) => void;
  /** Stops the work and drops the new tables. */
  signal?: AbortSignal;
  /** Called once for each event that is skipped because its personal data cannot be decrypted. */
  onUnreadable?: (error: UnreadablePersonalData) => void;
  /** Rests as long as it works, so that it costs a busy database little. */
  gently?: boolean;
};

/** A row of the projection that differs from the log. Does not contain the differing values: they may be personal. */
export type RowDifference = {
  table: string;
  key: { [column: string]: unknown };
  problem: 'missing' | 'surplus' | 'different';
  columns: string[];
};

/** Another process rebuilds or verifies the same projection. */
export class UnderWay extends Error {}

/**
 * Rebuilds a projection's tables from the log, in a schema next to the live one.
 *
 * Only one process builds at a time, on one connection at a time. Holding a lock on one connection and building on
 * another could deadlock behind a pooler with few connections. So each step is a transaction that takes the lock.
 * Between steps, the comment of the schema names the builder and the time of its last step.
 */
export class Rebuild {
  private readonly builder = newId();
  private readonly live: string;
  private readonly beside: string;
  private readonly old: string;
  private readonly lease: Lease;
  /**
   * The new tables contain everything up to here. Each step reads it again, because the COMMIT of a lost connection
   * may or may not have succeeded.
   */
  private position = 0;
  private readonly pageSize = new PageSize();
  private readonly unreadable = new Set<number>();
  /** People erased up to here were never in the new tables. */
  private cleanPosition = 0;
  /** The statements that create the indexes still missing from the new tables. */
  private indexes: string[] = [];
  /** The next page, read while the current one is applied. */
  private ahead: Page | undefined;

  constructor(
    private readonly projection: Projection,
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly options: BuildOptions,
  ) {
    this.live = schemaOf(projection);
    this.beside = `${this.live}_beside`;
    this.old = `${this.live}_old`;
    this.lease = new Lease('checkpoints', source);
  }

  /**
   * Builds, catches up, and swaps in one short transaction. Readers and writers continue all the while.
   *
   * @throws UnderWay if another process rebuilds or verifies the same projection.
   */
  async swap(): Promise<void> {
    await this.building(async () => {
      await this.makeIndexes();
      await this.retrying(() =>
        this.step((transaction) => transaction.query(`DROP SCHEMA IF EXISTS ${this.old} CASCADE`)),
      );
      // If a swap takes too long between two statements, it is rolled back. The next attempt has less left to do.
      while (!(await this.retrying(() => this.lease.run(() => this.trySwap())))) await this.advance();
    });
    // Not in the swap's transaction: it waits for readers of the old tables, and no one may wait for that.
    await this.tidy();
  }

  /** Builds, compares row by row with the live tables at one position, and drops the new tables. */
  async compare(): Promise<RowDifference[]> {
    // Rows are compared by their keys, so no other index is created.
    return this.building(() =>
      this.retrying(() =>
        this.step(
          async (transaction) => {
            // The snapshot is the one position at which both are compared.
            const live = await this.livePosition(transaction);
            await this.applyRest(transaction, live);
            return this.findDifferences(transaction);
          },
          { isSnapshot: true },
        ),
      ),
    );
  }

  /** Drops what an interrupted rebuild left behind, unless a rebuild is running. */
  async tidy(): Promise<void> {
    const left = await this.source.query<unknown[]>('SELECT FROM pg_namespace WHERE nspname = ANY ($1)', [
      [this.beside, this.old],
    ]);
    if (left.length === 0) return;
    await this.source.transaction(async (transaction) => {
      const { free, builder } = await this.tryLock(transaction);
      if (!free) return;
      await transaction.query(`DROP SCHEMA IF EXISTS ${this.old} CASCADE`);
      if (builder === undefined) await transaction.query(`DROP SCHEMA IF EXISTS ${this.beside} CASCADE`);
    });
  }

  private async building<Result>(work: () => Promise<Result>): Promise<Result> {
    this.cleanPosition = await this.store.horizon();
    const begin = async (transaction: Sql) => {
      const { free, builder, now } = await this.tryLock(transaction);
      if (!free) return false;
      if (builder !== undefined) throw this.underWay();
      await transaction.query(`DROP SCHEMA IF EXISTS ${this.beside} CASCADE`);
      await transaction.query(`CREATE SCHEMA ${this.beside}`);
      await this.sign(transaction, now);
      await this.useBeside(transaction);
      await transaction.query(this.projection.tables);
      const { appliesBy } = this.projection;
      if (appliesBy) this.indexes = await takeIndexes(transaction, this.beside, appliesBy);
      return true;
    };
    for (let attempt = 1; !(await this.source.transaction(begin)); attempt += 1) {
      // An instance that starts checks briefly whether anyone builds.
      if (attempt === MOST_ATTEMPTS) throw this.underWay();
      await sleep(ATTEMPT_PAUSE_MS);
    }
    try {
      while ((await this.advance()) > LAST_PAGE);
      // Statistics for the comparison.
      await this.analyze();
      await this.advance();
      return await work();
    } finally {
      await this.clear();
    }
  }

  private async analyze(): Promise<void> {
    const analyzeTables = async (transaction: Transaction) => {
      for (const table of await this.tables(transaction)) {
        await transaction.query(`ANALYZE ${this.beside}.${table}`);
      }
    };
    await this.retrying(() => this.step(analyzeTables));
  }

  /** One at a time, so that few events arrive during each step. */
  private async makeIndexes(): Promise<void> {
    for (const definition of this.indexes) {
      await this.resting(() =>
        this.retrying(() => this.step((transaction) => transaction.query(definition))),
      );
    }
    // Statistics for the first readers, including those of indexed expressions.
    if (this.indexes.length > 0) await this.analyze();
  }

  /** Otherwise no one could build until the schema counts as abandoned. */
  private async clear(): Promise<void> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      const isDone = await this.source.transaction(async (transaction) => {
        const { free, builder } = await this.tryLock(transaction);
        if (!free) return false;
        if (builder === this.builder) await transaction.query(`DROP SCHEMA ${this.beside} CASCADE`);
        return true;
      });
      if (isDone) return;
      // Another process is checking whether we build.
      await sleep(ATTEMPT_PAUSE_MS);
    }
  }

  /** A transaction during which no other process builds. */
  private async step<Result>(
    work: (transaction: Transaction, now: number) => Promise<Result>,
    limits: TransactionLimits = {},
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const done = await inTransaction(this.source, limits, async (transaction) => {
        const { free, builder, now, position } = await this.tryLock(transaction);
        if (!free) return undefined;
        if (builder !== this.builder) throw this.underWay();
        this.position = position;
        await this.sign(transaction, now);
        return { result: await work(transaction, now) };
      });
      if (done) return done.result;
      // Another process is checking briefly whether we build, or a version before 0.3.0 has begun to build.
      if (attempt === MOST_ATTEMPTS) throw this.underWay();
      await sleep(ATTEMPT_PAUSE_MS);
    }
  }

  /**
   * Takes the lock, if it is free, until the transaction ends. @returns the builder, and the position of the new
   * tables.
   */
  private async tryLock(
    transaction: Sql,
  ): Promise<{ free: boolean; builder: string | undefined; now: number; position: number }> {
    // Versions before 0.3.0 hold the lock while they build, and sign nothing.
    const [row] = await transaction.query<{ free: boolean; comment: string | null; now: number }[]>(
      `SELECT pg_try_advisory_xact_lock($1, hashtext($2)) AS free,
         obj_description(to_regnamespace($3), 'pg_namespace') AS comment,
         extract(epoch FROM clock_timestamp())::float8 AS now`,
      [REBUILD_LOCK, this.live, this.beside],
    );
    const { free, comment, now } = row!;
    const [builder, lastStep, position = 0] = comment?.split(' ') ?? [];
    const isAlive = builder === this.builder || Number(lastStep) > now - SILENT_SECONDS;
    return { free, builder: isAlive ? builder : undefined, now, position: Number(position) };
  }

  private async sign(transaction: Sql, now: number): Promise<void> {
    const comment = `${this.builder} ${now} ${this.position}`;
    await transaction.query(`COMMENT ON SCHEMA ${this.beside} IS '${comment}'`);
  }

  private underWay(): UnderWay {
    return new UnderWay(
      `${this.projection.name} is being rebuilt or verified already, or was until a minute ago.`,
    );
  }

  /** Applies one page. @returns how many positions the new tables are behind the live ones. */
  private async advance(): Promise<number> {
    let live = 0;
    const page = async (transaction: Transaction, now: number) => {
      await this.applyPage(transaction, live);
      await this.sign(transaction, now);
    };
    await this.retrying(async () => {
      live = await this.livePosition(this.source);
      const begin = performance.now();
      await this.resting(() => this.step(page));
      this.pageSize.fit(performance.now() - begin);
    });
    this.options.onProgress?.(this.position, live);
    return live - this.position;
  }

  /**
   * Retries what PostgreSQL rolled back because the connection was lost or it took too long. Each retry halves the
   * pages, which are then sent and processed sooner.
   */
  private async retrying<Result>(work: () => Promise<Result>): Promise<Result> {
    const { name } = this.projection;
    let pause = FIRST_RETRY_PAUSE_MS;
    for (let attempt = 1; ; attempt += 1) {
      this.options.signal?.throwIfAborted();
      const { position } = this;
      try {
        return await work();
      } catch (error) {
        this.options.signal?.throwIfAborted();
        if (error instanceof UnderWay) throw error;
        // It was being read over the lost connection.
        this.ahead = undefined;
        const canRetry = isUnavailable(error) || isTransient(error);
        if (!canRetry || attempt === MOST_FAILURES) {
          const times = canRetry ? `, in ${attempt} attempts with smaller and smaller pages` : '';
          const where = `the ${this.pageSize.limit.toLocaleString('en')} events after position ${position}`;
          throw new Error(`${name} cannot be built from ${where}${times}: ${describeError(error, true)}`, {
            cause: error,
          });
        }
        this.pageSize.halve();
      }
      await sleep(pause, undefined, { signal: this.options.signal });
      pause = Math.min(2 * pause, LONGEST_RETRY_PAUSE_MS);
    }
  }

  /** With `gently`, rests as long as the work took. */
  private async resting(work: () => Promise<unknown>): Promise<void> {
    const begin = performance.now();
    await work();
    if (!this.options.gently) return;
    const rest = Math.min(performance.now() - begin, LONGEST_REST_MS);
    await sleep(rest, undefined, { signal: this.options.signal });
  }

  private async applyPage(transaction: Transaction, upTo: number): Promise<void> {
    const { handles } = this.projection;
    const read = async (after: number): Promise<Page> => {
      const { limit } = this.pageSize;
      const end = await this.store.pageEnd(after, upTo, limit, handles, transaction);
      const events = this.store.readAll(after, end, limit, handles, transaction, (error) => {
        // A page can be read more than once.
        if (!this.unreadable.has(error.event.position)) this.options.onUnreadable?.(error);
        this.unreadable.add(error.event.position);
      });
      // Avoids an unhandled rejection. Awaiting the page reports the error.
      events.catch(() => undefined);
      return { after, end, events };
    };
    const page = this.ahead?.after === this.position ? this.ahead : await read(this.position);
    // It arrives while this page is prepared, and is decoded while PostgreSQL stores this one.
    this.ahead = page.end < upTo ? await read(page.end) : undefined;
    const events = await page.events;
    await this.useBeside(transaction);
    if (events.length > 0) await this.projection.apply(events, transaction, this.store.rows.seal);
    await this.ahead?.events;
    this.position = Math.max(this.position, page.end);
  }

  /** Little is left, so one transaction is enough. */
  private async applyRest(transaction: Transaction, upTo: number): Promise<void> {
    while (this.position < upTo) await this.applyPage(transaction, upTo);
  }

  /** Holds the lease: nothing is applied to the live tables, and writers wait for the swap. */
  private trySwap(): Promise<boolean> {
    return this.step(
      async (transaction) => {
        const live = await this.livePosition(transaction, 'FOR UPDATE');
        if (live - this.position > LAST_PAGE) return false;
        await this.applyRest(transaction, live);
        await transaction.query(`COMMENT ON SCHEMA ${this.beside} IS NULL`);
        await transaction.query(`ALTER SCHEMA ${this.live} RENAME TO ${this.old}`);
        await transaction.query(`ALTER SCHEMA ${this.beside} RENAME TO ${this.live}`);
        await transaction.query(
          `UPDATE checkpoints SET position = $3, clean_position = $4,
           failed_position = NULL, failure = NULL, failed_at = NULL
         WHERE projection = $1 AND version = $2`,
          [this.projection.name, this.projection.version, this.position, this.cleanPosition],
        );
        return true;
      },
      { idle: this.lease.timeoutMs },
    );
  }

  /** The position of the live tables. A failing projection has stopped, so the end of the log is used instead. */
  private async livePosition(sql: Sql, lock = ''): Promise<number> {
    const [row] = await sql.query<{ position: string; failing: boolean }[]>(
      `SELECT position, failed_at IS NOT NULL AS failing FROM checkpoints
       WHERE projection = $1 AND version = $2 ${lock}`,
      [this.projection.name, this.projection.version],
    );
    if (!row) throw new Error(`${this.projection.name} has no tables yet: start a server first.`);
    return Math.max(Number(row.position), row.failing ? await this.store.horizon(sql) : 0);
  }

  private async useBeside(transaction: Sql): Promise<void> {
    await transaction.query(`SELECT set_config('search_path', $1, true)`, [`${this.beside}, public`]);
  }

  private async tables(transaction: Sql): Promise<string[]> {
    const rows = await transaction.query<{ tablename: string }[]>(
      'SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1',
      [this.beside],
    );
    return rows.map(({ tablename }) => tablename);
  }

  private async findDifferences(transaction: Sql): Promise<RowDifference[]> {
    const differences: RowDifference[] = [];
    for (const table of await this.tables(transaction)) {
      const keys = await transaction.query<{ name: string }[]>(
        `SELECT a.attname AS name FROM pg_index i
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
         WHERE i.indrelid = $1::regclass AND i.indisprimary`,
        [`${this.beside}.${table}`],
      );
      const sameKey = keys.map(({ name }) => `l.${name} = b.${name}`).join(' AND ');
      type Row = { [column: string]: unknown } | null;
      const rows = await transaction.query<{ live: Row; built: Row }[]>(
        `SELECT to_jsonb(l) AS live, to_jsonb(b) AS built
         FROM ${this.live}.${table} l FULL JOIN ${this.beside}.${table} b ON ${sameKey}
         WHERE l IS DISTINCT FROM b LIMIT $1`,
        [MOST_DIFFERENCES - differences.length],
      );
      for (const { live, built } of rows) {
        const some = (live ?? built)!;
        differences.push({
          table,
          key: Object.fromEntries(keys.map(({ name }) => [name, some[name]])),
          problem: live === null ? 'missing' : built === null ? 'surplus' : 'different',
          columns:
            live && built
              ? Object.keys(some).filter(
                  (column) => JSON.stringify(live[column]) !== JSON.stringify(built[column]),
                )
              : [],
        });
      }
    }
    return differences;
  }
}
