import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  describeError,
  fewAtOnce,
  isCollision,
  isForbidden,
  isUnavailable,
  Lease,
  type Sql,
  type TroubleLog,
} from '#libs/database';
import { type EventRow, type EventStore, isObject } from '#libs/event-store';
import { traced } from '#libs/tracing';
import { ProjectionRunner, type ProjectionStatus } from './projection-runner.js';
import { type Projection, type Snapshots } from './projection.js';
import { type BuildOptions, Rebuild, type RowDifference, UnderWay } from './rebuild.js';
import { HEARTBEAT_MS, Serving, type StandingVersion } from './serving.js';

/**
 * How often each instance looks for events that no command of its own brought: of instances that crashed
 * between an append and the projection, and for projections that failed.
 */
const POLL_MS = 500;

/**
 * How long a version must stand still before it is dropped by hand: an instance of version 0.1.0 moves it twice a second,
 * but for when it hangs, which nobody else waits for, and PostgreSQL ends after the 10 s of that version; then it goes on.
 */
const STANDS_STILL_MS = 12_000;

/** Before what could not be tidied up is tried again: readers may have been in the way. */
const PAUSE_AFTER_FAILURE_MS = 60_000;

/** How long a command tries new connections in place of a broken one before it answers all the same. */
const RECONNECT_MS = 1_000;
const RECONNECT_PAUSE_MS = 20;
const MOST_STARTS = 5;

export type ProjectionsOptions = {
  /** For looking after leases while the pool's own connections wait for them; the pool itself when left out. */
  reserved?: DataSource;
  /** Who tells what is wrong with the database, and once for all. */
  troubles?: TroubleLog;
  /**
   * Files that hold persons in plain are written anew once somebody was erased so long ago. 0, as without it: only by
   * `purge`.
   */
  purgeAfterHours?: number;
  /** See `Serving`, and `drop`; shorter in tests. */
  heartbeatMs?: number;
  graceMs?: number;
  standsStillMs?: number;
  /** See `Lease`; shorter in tests. */
  patienceMs?: number;
};

/** What `purge` did and could not do. */
export type Purged = {
  /** Read models whose files were written anew. */
  rebuilt: string[];
  /** Those that another process is rebuilding. */
  underWay: string[];
  /** Earlier versions that stand: their rows of the erased are gone, their files may still hold them. */
  earlierVersions: { name: string; version: number }[];
  /** Whether PostgreSQL let us end its log (WAL), so that no part of it from before need be kept. */
  logEnded: boolean;
};

type Logger = Pick<LoggerService, 'log' | 'warn' | 'error'>;

/** All read models of the product, kept up with the log by every instance together. */
export class Projections {
  private readonly runners: ProjectionRunner[];
  private readonly snapshots: ReadonlyMap<string, Snapshots>;
  private readonly stopping = new AbortController();
  private polling: Promise<void> | undefined;
  private readonly serving: Serving;
  private tidying: Promise<void> | undefined;
  private beatAt = 0;
  private tidyAt = 0;
  private readonly skipped = new Set<string>();
  private accompanied: ReadonlySet<string> = new Set();
  private looking: Promise<number> | undefined;
  /** What the background saw when it last looked, and when (`performance.now()`): asks nobody. */
  lastSeen: { statuses: readonly ProjectionStatus[]; at: number } | undefined;

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    projections: readonly Projection[],
    private readonly logger: Logger,
    private readonly options: ProjectionsOptions = {},
  ) {
    this.snapshots = new Map(
      projections.flatMap(({ snapshots }) => (snapshots ? [[snapshots.streamType, snapshots] as const] : [])),
    );
    this.serving = new Serving(source, projections, store.keyring.ids, options.graceMs);
    const lookout = options.reserved ?? source;
    this.runners = projections.map(
      (projection) =>
        new ProjectionRunner(
          projection,
          source,
          store,
          new Lease('checkpoints', lookout, options.patienceMs),
          {
            failed: ({ name, version }, position, error) => {
              this.logger.error({
                message: 'projection failed: it stops here, the rest goes on',
                projection: name,
                version,
                position,
                reason: describeError(error),
              });
            },
            skipped: (one, event) => this.tellSkipped(one, event),
            recovered: ({ name }) => {
              this.logger.log({ message: 'projection recovered', projection: name });
            },
          },
        ),
    );
  }

  /**
   * An event in a shape that only a later version of this program knows: that one has a version of its own of the read
   * model (see `Projection.version`), so this one, whose tables it never reads, goes on. Said once for each shape. Or one that
   * is damaged, which must not stand in everybody's way.
   */
  private tellSkipped({ name, version }: Projection, { type, schema, position, data }: EventRow): void {
    const shape = `${name} ${type} ${schema} ${isObject(data)}`;
    if (this.skipped.has(shape)) return;
    this.skipped.add(shape);
    const message = isObject(data)
      ? 'a newer version of this program wrote what this one cannot read: its records lack it here'
      : 'somebody has changed the history: an event is not what this program writes, and its record lacks it';
    this.logger.warn({ message, projection: name, version, type, schema, position: Number(position) });
  }

  /** Creates what is missing and catches up, so that an instance that serves never serves the past. */
  async start(): Promise<void> {
    await this.serving.beat();
    this.noteCompany(await this.serving.standing());
    for (const runner of this.runners) await runner.prepare();
    await fewAtOnce(this.runners, (runner) => this.catchUpAtStart(runner));
  }

  /** A worker that is ended because it stood still, at a start that the machine is too busy for say, begins anew. */
  private async catchUpAtStart(runner: ProjectionRunner): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await runner.catchUpToHorizon();
      } catch (error) {
        if (!isUnavailable(error) || attempt === MOST_STARTS) throw error;
        await sleep(RECONNECT_PAUSE_MS);
      }
    }
  }

  /** Starts the background catch-up. */
  poll(): void {
    this.polling = this.pollUntilStopped();
  }

  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    this.stopping.abort();
    await this.polling;
    await this.tidying;
    // Whoever cannot say goodbye is taken for gone a minute later.
    await this.serving.leave().catch(() => undefined);
  }

  /**
   * Resolves when every projection (that handles one of these event types) holds all up to `position`. Never
   * rejects: the events are stored, and a read model that fails is the log's and the health report's matter.
   */
  async catchUp(position: number, eventTypes?: readonly string[]): Promise<void> {
    const concerned = this.runners.filter(
      ({ projection }) => !eventTypes || projection.handles.some((type) => eventTypes.includes(type)),
    );
    await traced('projections', { position, projections: concerned.length }, () =>
      Promise.all(concerned.map((runner) => this.catchUpOne(runner, position))),
    );
  }

  /** Resolves when every read model shows all that was stored before this call. */
  async catchUpWithLog(): Promise<void> {
    await this.catchUp(await this.store.lastPosition());
  }

  /** Whether instances of another version serve a read model: what these write, only they put into their own. */
  get hasCompany(): boolean {
    return this.runners.some(({ projection }) => this.accompanied.has(projection.name));
  }

  /**
   * Before a request, while instances of other versions serve: resolves when the read models show what these have
   * answered. Costs nothing while there are none.
   *
   * @param name only this read model.
   */
  async catchUpWithOthers(name?: string): Promise<void> {
    const concerned = this.runners.filter(
      ({ projection }) =>
        this.accompanied.has(projection.name) && (name === undefined || projection.name === name),
    );
    if (concerned.length === 0) return;
    // What was answered lies below the horizon: whoever answered had it in a read model.
    const horizon = await this.horizonOfNow();
    await Promise.all(concerned.map((runner) => this.catchUpOne(runner, horizon)));
  }

  /** One look answers all who ask before it starts, none who asks after. */
  private horizonOfNow(): Promise<number> {
    this.looking ??= nextTurn().then(() => {
      this.looking = undefined;
      return this.store.horizon();
    });
    return this.looking;
  }

  private noteCompany(standing: readonly StandingVersion[]): void {
    this.accompanied = new Set(this.serving.servedBeside(standing).map(({ name }) => name));
  }

  private async catchUpOne(runner: ProjectionRunner, position: number): Promise<void> {
    let giveUpAt: number | undefined;
    for (;;) {
      try {
        return await runner.catchUp(position);
      } catch (error) {
        giveUpAt ??= Date.now() + RECONNECT_MS;
        if ((isUnavailable(error) || isCollision(error)) && Date.now() < giveUpAt) {
          await sleep(RECONNECT_PAUSE_MS);
          continue;
        }
        if (this.stopping.signal.aborted || this.options.troubles?.tell(error)) return;
        this.logger.error({
          message: 'projection not caught up: the answer may come before the read model',
          projection: runner.projection.name,
          position,
          reason: describeError(error),
        });
        return;
      }
    }
  }

  /**
   * Builds a projection anew from the log and puts it in place of the live one, while everybody goes on.
   *
   * @throws when there is no such projection, or another process is at it.
   */
  async rebuild(name: string, options: BuildOptions = {}): Promise<void> {
    await new Rebuild(this.find(name), this.source, this.store, options).swap();
  }

  /** Builds a projection anew beside the live one. @returns the rows that differ, 100 at most. */
  async verify(name: string, options: BuildOptions = {}): Promise<RowDifference[]> {
    return new Rebuild(this.find(name), this.source, this.store, options).compare();
  }

  /** The read models of this program, each in the version that it serves. */
  own(): Pick<Projection, 'name' | 'version'>[] {
    return this.runners.map(({ projection: { name, version } }) => ({ name, version }));
  }

  /** Where a read model holds the records of these streams whole; undefined where none does. */
  snapshotsOf(streamType: string): Snapshots | undefined {
    return this.snapshots.get(streamType);
  }

  private find(name: string): Projection {
    const found = this.runners.find(({ projection }) => projection.name === name);
    if (found) return found.projection;
    const names = this.runners.map(({ projection }) => projection.name);
    throw new Error(`There is no projection ${name}. There are: ${names.join(', ')}.`);
  }

  /**
   * Writes the files anew that hold persons in plain who were erased, and asks PostgreSQL to end its log. Others go
   * on meanwhile.
   */
  async purge(options: BuildOptions = {}): Promise<Purged> {
    const purged: Purged = { rebuilt: [], underWay: [], earlierVersions: [], logEnded: false };
    for (const { projection } of this.runners) {
      if (!(await this.holdsErased(projection))) continue;
      const done = await this.rebuildUnlessUnderWay(projection, options);
      purged[done ? 'rebuilt' : 'underWay'].push(projection.name);
    }
    purged.earlierVersions = (await this.versions())
      .filter(({ name, version }) => !this.serving.isOwn(name, version))
      .map(({ name, version }) => ({ name, version }));
    purged.logEnded = await this.endLog();
    return purged;
  }

  /** Whether the files of a projection may still hold somebody who was erased so many hours ago. */
  private async holdsErased({ name, version, erasure }: Projection, hours = 0): Promise<boolean> {
    if (!erasure?.inPlain) return false;
    const found = await this.source.query<unknown[]>(
      `SELECT FROM checkpoints c JOIN events e ON e.position > c.clean_position
       WHERE c.projection = $1 AND c.version = $2 AND e.type = $3
         AND e.recorded_at <= clock_timestamp() - make_interval(secs => $4)
       ORDER BY e.position LIMIT 1`,
      [name, version, erasure.event, hours * 3_600],
    );
    return found.length > 0;
  }

  private async rebuildUnlessUnderWay(projection: Projection, options: BuildOptions): Promise<boolean> {
    try {
      await new Rebuild(projection, this.source, this.store, options).swap();
      return true;
    } catch (error) {
      if (error instanceof UnderWay) return false;
      throw error;
    }
  }

  /** Roles need pg_checkpoint, and the right to call pg_switch_wal. */
  private async endLog(): Promise<boolean> {
    try {
      await this.source.query('SELECT pg_switch_wal()');
      await this.source.query('CHECKPOINT');
      return true;
    } catch (error) {
      if (isForbidden(error)) return false;
      throw error;
    }
  }

  /**
   * Drops an earlier (or later) version's tables, whose events have all been read by this program's own.
   *
   * @throws while somebody serves it, unless forced.
   */
  async drop(name: string, version: number, force = false): Promise<void> {
    if (this.serving.isOwn(name, version)) {
      throw new Error(`${name} ${version} is the version that this program itself serves: use rebuild.`);
    }
    const look = async () =>
      (await this.versions()).find((one) => one.name === name && one.version === version);
    const found = await look();
    if (!found) throw new Error(`There is no version ${version} of ${name}: see projections status.`);
    if (!force) {
      if (found.instances > 0)
        throw new Error(`${found.instances} instances serve it. Stop them, or use --force.`);
      if (found.lag === 0) {
        throw new Error(
          'It is as far as the history, so an instance of version 0.1.0 may serve it, which does not say so. ' +
            'Wait for the next event, or use --force if there is none.',
        );
      }
      const until = performance.now() + (this.options.standsStillMs ?? STANDS_STILL_MS);
      for (let now: StandingVersion | undefined = found; ; now = await look()) {
        if (now?.position !== found.position) {
          throw new Error('An instance of version 0.1.0 serves it. Stop that, or use --force.');
        }
        if (now.failingNow) {
          throw new Error(
            'An instance of version 0.1.0 serves it, or did within the last minute: it fails. ' +
              'Stop that and wait a minute, or use --force.',
          );
        }
        if (performance.now() >= until) break;
        await sleep(POLL_MS);
      }
    }
    if (!(await this.serving.drop(name, version, found.position, force))) {
      throw new Error('Somebody has begun to serve it. Stop that, or use --force.');
    }
  }

  /** Instances that serve, or were ended without notice within the last minute, and do not have this master key. */
  instancesWithout(master: Buffer, sql: Sql = this.source): Promise<number> {
    return this.serving.instancesWithout(master, sql);
  }

  /** All versions of all read models that stand in the database, and who serves them. */
  versions(): Promise<StandingVersion[]> {
    return this.serving.standing();
  }

  /** How far every projection of this program is, as the database says. */
  async status(sql: Sql = this.source): Promise<ProjectionStatus[]> {
    return this.ownAmong(await this.serving.standing(sql));
  }

  private ownAmong(standing: readonly StandingVersion[]): ProjectionStatus[] {
    return this.runners.map(({ projection: { name, version } }) => {
      const own = standing.find((candidate) => candidate.name === name && candidate.version === version);
      const { position = 0, lag = 0, failure = null } = own ?? {};
      return { name, version, position, lag, failure };
    });
  }

  /** What is due every few seconds. Tidying up may take minutes, and holds up nothing else. */
  private async keep(): Promise<void> {
    if (performance.now() < this.beatAt) return;
    this.beatAt = performance.now() + (this.options.heartbeatMs ?? HEARTBEAT_MS);
    await this.serving.beat();
    if (performance.now() < this.tidyAt) return;
    this.tidying ??= this.tidyUp()
      .catch((error: unknown) => {
        if (this.stopping.signal.aborted) return;
        if (!this.options.troubles?.tell(error))
          this.logger.warn({ message: 'read models could not be tidied up', reason: describeError(error) });
        this.tidyAt = performance.now() + PAUSE_AFTER_FAILURE_MS;
      })
      .finally(() => (this.tidying = undefined));
  }

  private async tidyUp(): Promise<void> {
    for (const { name, version } of await this.serving.dropUnserved()) {
      this.logger.log({
        message: 'read model dropped: nobody serves this version',
        projection: name,
        version,
      });
    }
    for (const { projection } of this.runners) {
      await new Rebuild(projection, this.source, this.store, {}).tidy();
      const { purgeAfterHours = 0 } = this.options;
      if (purgeAfterHours === 0 || !(await this.holdsErased(projection, purgeAfterHours))) continue;
      const { signal } = this.stopping;
      if (await this.rebuildUnlessUnderWay(projection, { signal, gently: true })) {
        const message = 'read model rebuilt, so that its files forget who was erased';
        this.logger.log({ message, projection: projection.name });
      }
    }
  }

  private async pollUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    let reachable = true;
    while (!signal.aborted) {
      try {
        await this.keep();
        const standing = await this.serving.standing();
        this.noteCompany(standing);
        const statuses = this.ownAmong(standing);
        this.lastSeen = { statuses, at: performance.now() };
        await Promise.all(
          statuses.map(async (status, index) => {
            const runner = this.runners[index]!;
            runner.observe(status);
            if (status.lag > 0) await runner.catchUpToHorizon();
          }),
        );
        reachable = true;
      } catch (error) {
        const isTold = this.options.troubles?.tell(error) === true;
        // Said once, not twice a second.
        const reason = describeError(error);
        if (reachable && !isTold) this.logger.warn({ message: 'projections cannot be polled', reason });
        reachable = false;
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
