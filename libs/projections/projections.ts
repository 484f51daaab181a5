import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  describeError,
  fewAtOnce,
  isCollision,
  isUnavailable,
  Lease,
  literal,
  type Sql,
  type IncidentLog,
} from '#libs/database';
import { type EventRow, type EventStore, isObject } from '#libs/event-store';
import { traced } from '#libs/tracing';
import { Worker } from '#libs/work';
import { Maintenance } from './maintenance.js';
import { ProjectionRunner, type ProjectionStatus } from './projection-runner.js';
import { type Projection, type Snapshots } from './projection.js';
import { canServeTogether, describeRelease, type LiveRelease, SILENT_SECONDS } from './releases.js';
import { HEARTBEAT_MS, Serving, type ProjectionVersion } from './serving.js';

/** Between two looks at projections that are behind, or fail: what is appended here is brought by its own command. */
const POLL_MS = 500;

/** Of so many heartbeats one tidies up. */
const BEATS_TO_TIDY = 6;
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
  troubles?: IncidentLog;
  /**
   * Files that hold persons in plain are written anew once somebody was erased so long ago. 0, as without it: only by
   * `Maintenance.purge`.
   */
  purgeAfterHours?: number;
  /** The version of this program, which instances announce to each other. Without it, none is announced or judged. */
  release?: string;
  /** See `Serving`, and `Maintenance.drop`; shorter in tests. */
  heartbeatMs?: number;
  graceMs?: number;
  standsStillMs?: number;
  /** See `Lease`; shorter in tests. */
  timeoutMs?: number;
};

/** Only where the checkpoint has not moved since it was read: a rebuild may have set it back. */
const SKIP = `
  UPDATE checkpoints SET position = $4 WHERE (projection, version) IN (
    SELECT c.projection, c.version
    FROM checkpoints c JOIN unnest($1::text[], $2::int[], $3::bigint[]) AS idle(projection, version, position)
      USING (projection, version, position)
    WHERE c.failed_at IS NULL FOR UPDATE OF c SKIP LOCKED
  )`;
const columnsOf = (statuses: readonly ProjectionStatus[]) => [
  statuses.map(({ name }) => name),
  statuses.map(({ version }) => version),
  statuses.map(({ position }) => position),
];

type Logger = Pick<LoggerService, 'log' | 'warn' | 'error'>;

/** All read models of the product, kept up with the log by every instance together. */
export class Projections {
  private readonly runners: ProjectionRunner[];
  private readonly snapshots: ReadonlyMap<string, Snapshots>;
  private readonly worker: Worker;
  private readonly serving: Serving;
  readonly maintenance: Maintenance;
  private tidying: Promise<void> | undefined;
  private beatAt = 0;
  private tidyAt = 0;
  private readonly skipped = new Set<string>();
  private mixedVersions: ReadonlySet<string> = new Set();
  /** Releases that serve the same database and cannot serve beside this one, as last logged. */
  private unsupported = '';
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
    this.worker = new Worker((error, message, isRepeated) => {
      if (!isRepeated) logger.warn({ message, reason: describeError(error) });
    }, options.troubles);
    this.snapshots = new Map(
      projections.flatMap(({ snapshots }) => (snapshots ? [[snapshots.streamType, snapshots] as const] : [])),
    );
    this.serving = new Serving(source, projections, store.keyring.ids, options.graceMs, options.release);
    this.maintenance = new Maintenance(projections, source, store, this.serving, logger, options);
    const lookout = options.reserved ?? source;
    this.runners = projections.map(
      (projection) =>
        new ProjectionRunner(
          projection,
          source,
          store,
          new Lease('checkpoints', lookout, options.timeoutMs),
          {
            failed: ({ name, version }, position, error) => {
              this.logger.error({
                message: 'projection failed: it stopped at this event, all others continue',
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
      ? 'event skipped: a newer version wrote it in a format this version cannot read'
      : 'event skipped: it is damaged, so the stored history was altered';
    this.logger.warn({ message, projection: name, version, type, schema, position: Number(position) });
  }

  /** Creates what is missing and catches up, so that an instance that serves never serves the past. */
  async start(): Promise<void> {
    this.warnOf(await this.serving.beat());
    this.recordMixedVersions(await this.serving.versions());
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
    const { worker } = this;
    const poller = this.store.pulse.watch(this.question);
    const wait = async (hasFailed: boolean) => {
      await worker.pause(POLL_MS);
      if (!hasFailed) await poller.next(worker.signal, this.beatAt - performance.now());
    };
    worker.start(() => this.look(), wait, 'polling projections failed');
  }

  async stop(): Promise<void> {
    if (this.worker.signal.aborted) return;
    await this.worker.stop();
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

  /** Resolves when every read model (that handles one of these event types) shows all that was stored before this call. */
  async catchUpWithLog(eventTypes?: readonly string[]): Promise<void> {
    await this.catchUp(await this.store.lastPosition(), eventTypes);
  }

  /** Whether instances of another version serve a read model: what these write, only they put into their own. */
  get hasCompany(): boolean {
    return this.runners.some(({ projection }) => this.mixedVersions.has(projection.name));
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
        this.mixedVersions.has(projection.name) && (name === undefined || projection.name === name),
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

  private recordMixedVersions(standing: readonly ProjectionVersion[]): void {
    this.mixedVersions = new Set(this.serving.servedByOthers(standing).map(({ name }) => name));
  }

  /** Logs instances of releases that cannot serve beside this one: whenever they change, not with every heartbeat. */
  private warnOf(live: readonly LiveRelease[]): void {
    const { release } = this.options;
    if (release === undefined) return;
    const found = live.filter((other) => !canServeTogether(release, other.release)).map(describeRelease);
    const before = this.unsupported;
    this.unsupported = found.join(', ');
    if (found.length === 0 || this.unsupported === before) return;
    this.logger.warn({
      message: 'instances of an incompatible version use the same database: stop either them or this one',
      release,
      incompatible: found,
    });
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
        if (this.worker.signal.aborted || this.options.troubles?.tell(error)) return;
        this.logger.error({
          message: 'projection not caught up: the response may precede the projection',
          projection: runner.projection.name,
          position,
          reason: describeError(error),
        });
        return;
      }
    }
  }

  /** The read models of this program, each in the version that it serves. */
  own(): Pick<Projection, 'name' | 'version'>[] {
    return this.runners.map(({ projection: { name, version } }) => ({ name, version }));
  }

  /** Where a read model holds the records of these streams whole; undefined where none does. */
  snapshotsOf(streamType: string): Snapshots | undefined {
    return this.snapshots.get(streamType);
  }

  /** Instances that serve, or were ended without notice within the last minute, and do not have this master key. */
  instancesWithout(master: Buffer, sql: Sql = this.source): Promise<number> {
    return this.serving.instancesWithout(master, sql);
  }

  /** All versions of all read models that stand in the database, and who serves them. */
  versions(): Promise<ProjectionVersion[]> {
    return this.serving.versions();
  }

  /** How far every projection of this program is, as the database says. */
  async status(sql: Sql = this.source): Promise<ProjectionStatus[]> {
    return this.ownAmong(await this.serving.versions(sql));
  }

  private ownAmong(standing: readonly ProjectionVersion[]): ProjectionStatus[] {
    return this.runners.map(({ projection: { name, version } }) => {
      const own = standing.find((candidate) => candidate.name === name && candidate.version === version);
      const { position = 0, lag = 0, failure = null } = own ?? {};
      return { name, version, position, lag, failure };
    });
  }

  /** What is due every few seconds. Tidying up may take minutes, and holds up nothing else. */
  private async keep(): Promise<void> {
    if (performance.now() < this.beatAt) return;
    const { heartbeatMs = HEARTBEAT_MS } = this.options;
    this.beatAt = performance.now() + heartbeatMs;
    this.warnOf(await this.serving.beat());
    if (performance.now() < this.tidyAt) return;
    this.tidyAt = performance.now() + BEATS_TO_TIDY * heartbeatMs;
    this.tidying ??= this.maintenance
      .tidyUp(this.worker.signal)
      .catch((error: unknown) => {
        if (this.worker.signal.aborted) return;
        if (!this.options.troubles?.tell(error))
          this.logger.warn({ message: 'cleaning up projections failed', reason: describeError(error) });
        this.tidyAt = performance.now() + PAUSE_AFTER_FAILURE_MS;
      })
      .finally(() => (this.tidying = undefined));
  }

  /** Projections that handle none of the new events move to the horizon together, in one statement. */
  private async advanceThose(behind: readonly ProjectionStatus[]): Promise<void> {
    const runnerOf = ({ name }: ProjectionStatus) =>
      this.runners.find(({ projection }) => projection.name === name)!;
    const { concerned, idle, horizon } = await this.store.splitByNews(
      behind.filter(({ failure }) => failure === null),
      (status) => runnerOf(status).projection.handles,
    );
    if (idle.length > 0) await this.source.query(SKIP, [...columnsOf(idle), horizon]);
    const failing = behind.filter(({ failure }) => failure !== null);
    await Promise.all([...concerned, ...failing].map((status) => runnerOf(status).catchUpToHorizon()));
  }

  private async look(): Promise<void> {
    await this.keep();
    const standing = await this.serving.versions();
    this.recordMixedVersions(standing);
    const statuses = this.ownAmong(standing);
    this.lastSeen = { statuses, at: performance.now() };
    this.runners.forEach((runner, index) => runner.observe(statuses[index]!));
    await this.advanceThose(statuses.filter(({ lag }) => lag > 0));
  }

  /**
   * SQL: whether there are events that a projection has not seen, one that fails, or instances of other versions, of whose records
   * nobody tells in time. Instances of version 0.1.0 do not say so: they are found by the looks that come in any case.
   */
  private get question(): string {
    const own = this.own().map(({ name, version }) => `(${literal(name)}, ${version})`);
    const names = this.own().map(({ name }) => literal(name));
    if (own.length === 0) return 'false';
    return `EXISTS (
        SELECT FROM checkpoints c WHERE (c.projection, c.version) IN (${own.join(', ')})
          AND (c.position < h.horizon OR c.failed_at IS NOT NULL)
      ) OR EXISTS (
        SELECT FROM serving s WHERE s.projection IN (${names.join(', ')}) AND (s.projection, s.version) NOT IN (${own.join(', ')})
          AND s.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_SECONDS})
      )`;
  }
}
