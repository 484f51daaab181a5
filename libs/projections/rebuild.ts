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
import { type EventStore, type RecordedEvent } from '#libs/event-store';
import { takeIndexes } from './late-indexes.js';
import { PageSize } from './page-size.js';
import { type Projection, schemaOf } from './projection.js';

/** So many events may be left for the transaction that everybody waits for. */
const LAST_PAGE = 500;
/** Failures in a row: with the pauses in between, 17 s without PostgreSQL, or a page of 5,000 events halved to 10. */
const MOST_FAILURES = 10;
const FIRST_RETRY_PAUSE_MS = 100;
const LONGEST_RETRY_PAUSE_MS = 4_000;
/** Differences that are told; more would be a broken read model, which a few show as well. */
const MOST_DIFFERENCES = 100;
/** Who was not heard of for so long builds no more; a page under way is no silence, however long. */
const SILENT_SECONDS = 60;
/** Others hold the lock for a moment only. */
const MOST_LOOKS = 20;
const LOOK_PAUSE_MS = 100;
/** Between two pages of one who works gently. */
const LONGEST_REST_MS = 10_000;
/** Beside PostgreSQL's own hash of the name: advisory locks of rebuilds. */
const REBUILD_LOCK = 17_751;

/** Events between two positions that are on their way. */
type Page = { after: number; end: number; events: Promise<RecordedEvent[]> };

export type BuildOptions = {
  /** Told after each page: how far the new tables are, and how far the log was then. */
  onProgress?: (position: number, horizon: number) => void;
  /** Ends the work; what was built is dropped. */
  signal?: AbortSignal;
  /** Works half of the time, so that it costs a busy database little. */
  gently?: boolean;
};

/** A row that is not in the read model as the log says. Without its values: they may be personal. */
export type RowDifference = {
  table: string;
  key: { [column: string]: unknown };
  problem: 'missing' | 'surplus' | 'different';
  /** The columns that differ. */
  columns: string[];
};

/** Another process rebuilds or verifies the same projection. */
export class UnderWay extends Error {}

/**
 * Builds a projection's tables anew from the log, in a schema beside the live one.
 *
 * One builds at a time, and with one connection at a time: whoever held a lock in one transaction and built in others could
 * wait for itself behind a pooler with few. So each step is a transaction that takes the lock, and the comment of the schema
 * says in between whose it is, and when that was last heard of.
 */
export class Rebuild {
  private readonly builder = newId();
  private readonly live: string;
  private readonly beside: string;
  private readonly old: string;
  private readonly lease: Lease;
  /** Everything up to here is in the new tables. Each step reads it anew: whether a lost connection's COMMIT was done is unknown. */
  private position = 0;
  private readonly pageSize = new PageSize();
  /** Who was erased up to here has never been in the new tables. */
  private cleanPosition = 0;
  /** What makes the indexes that the new tables have not yet. */
  private indexes: string[] = [];
  /** The page after the one that is being applied, read beside it. */
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
   * Builds, catches up, and swaps in one short transaction; readers and writers go on all the while.
   *
   * @throws when another process is at it.
   */
  async swap(): Promise<void> {
    await this.building(async () => {
      await this.makeIndexes();
      await this.retrying(() =>
        this.step((transaction) => transaction.query(`DROP SCHEMA IF EXISTS ${this.old} CASCADE`)),
      );
      // A swap that took too long between two statements was ended, and is undone: what is left is less the next time.
      while (!(await this.retrying(() => this.lease.run(() => this.trySwap())))) await this.advance();
    });
    // Not in the swap's transaction: it waits for readers of the old tables, and nobody may wait for that.
    await this.tidy();
  }

  /** Builds, compares row by row with the live tables at one position, and drops what was built. */
  async compare(): Promise<RowDifference[]> {
    // Rows are compared by their keys, so no other index is made.
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

  /** Drops what an interrupted rebuild left behind, unless one is under way. */
  async tidy(): Promise<void> {
    const left = await this.source.query<unknown[]>('SELECT FROM pg_namespace WHERE nspname = ANY ($1)', [
      [this.beside, this.old],
    ]);
    if (left.length === 0) return;
    await this.source.transaction(async (transaction) => {
      const { free, builder } = await this.look(transaction);
      if (!free) return;
      await transaction.query(`DROP SCHEMA IF EXISTS ${this.old} CASCADE`);
      if (builder === undefined) await transaction.query(`DROP SCHEMA IF EXISTS ${this.beside} CASCADE`);
    });
  }

  private async building<Result>(work: () => Promise<Result>): Promise<Result> {
    this.cleanPosition = await this.store.horizon();
    const begin = async (transaction: Sql) => {
      const { free, builder, now } = await this.look(transaction);
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
      // An instance that starts looks whether somebody builds.
      if (attempt === MOST_LOOKS) throw this.underWay();
      await sleep(LOOK_PAUSE_MS);
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

  /** One by one: what is written meanwhile is little. */
  private async makeIndexes(): Promise<void> {
    for (const definition of this.indexes) {
      await this.resting(() =>
        this.retrying(() => this.step((transaction) => transaction.query(definition))),
      );
    }
    // Statistics for the first readers: of expressions that are indexed too.
    if (this.indexes.length > 0) await this.analyze();
  }

  /** Else nobody could build before it is taken for left behind. */
  private async clear(): Promise<void> {
    for (let attempt = 1; attempt <= MOST_LOOKS; attempt += 1) {
      const isDone = await this.source.transaction(async (transaction) => {
        const { free, builder } = await this.look(transaction);
        if (!free) return false;
        if (builder === this.builder) await transaction.query(`DROP SCHEMA ${this.beside} CASCADE`);
        return true;
      });
      if (isDone) return;
      // Somebody looks whether we build.
      await sleep(LOOK_PAUSE_MS);
    }
  }

  /** A transaction beside which nobody else builds. */
  private async step<Result>(
    work: (transaction: Transaction, now: number) => Promise<Result>,
    limits: TransactionLimits = {},
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const done = await inTransaction(this.source, limits, async (transaction) => {
        const { free, builder, now, position } = await this.look(transaction);
        if (!free) return undefined;
        if (builder !== this.builder) throw this.underWay();
        this.position = position;
        await this.sign(transaction, now);
        return { result: await work(transaction, now) };
      });
      if (done) return done.result;
      // Somebody looks whether we build, which takes a moment; or a version before 0.3.0 has begun to build.
      if (attempt === MOST_LOOKS) throw this.underWay();
      await sleep(LOOK_PAUSE_MS);
    }
  }

  /** Takes the lock, if it is free, until the transaction ends. @returns who builds, and how far the new tables are. */
  private async look(
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
    const [builder, heardOf, position = 0] = comment?.split(' ') ?? [];
    const isHeardOf = builder === this.builder || Number(heardOf) > now - SILENT_SECONDS;
    return { free, builder: isHeardOf ? builder : undefined, now, position: Number(position) };
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

  /** Applies one page. @returns how many positions lie between the new tables and the live ones now. */
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
   * Repeats what PostgreSQL undid because its connection was lost or it took too long: with pages of half the size, which are
   * sent and processed sooner.
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
        // It was read over the connection that is lost.
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

  /** Who works gently rests as long as they worked. */
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
      const events = this.store.readAll(after, end, limit, handles, transaction);
      // Told to who takes the page.
      events.catch(() => undefined);
      return { after, end, events };
    };
    const page = this.ahead?.after === this.position ? this.ahead : await read(this.position);
    // On its way while this one is made ready, and taken apart while PostgreSQL stores this one.
    this.ahead = page.end < upTo ? await read(page.end) : undefined;
    const events = await page.events;
    await this.useBeside(transaction);
    if (events.length > 0) await this.projection.apply(events, transaction, this.store.rows.seal);
    await this.ahead?.events;
    this.position = Math.max(this.position, page.end);
  }

  /** What is left for one transaction is little. */
  private async applyRest(transaction: Transaction, upTo: number): Promise<void> {
    while (this.position < upTo) await this.applyPage(transaction, upTo);
  }

  /** The lease is held meanwhile: nothing is applied to the live tables, and writers wait for the swap. */
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

  /** How far the live tables are; a failing projection stands still, and is then overtaken. */
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
