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

/** Between two checks of projections that are behind or fail. Commands of this instance catch up by themselves. */
const POLL_MS = 500;

/** Maintenance runs once per this many heartbeats. */
const BEATS_TO_TIDY = 6;
/** The pause after failed maintenance, for example because readers held locks. */
const PAUSE_AFTER_FAILURE_MS = 60_000;

/** How long a command retries on new connections after one broke. Then it responds without having caught up. */
const RECONNECT_MS = 1_000;
const RECONNECT_PAUSE_MS = 20;
const MOST_STARTS = 5;

export type ProjectionsOptions = {
  /** For checking leases while all connections of the pool wait for them. Default: the pool itself. */
  reserved?: DataSource;
  /** Logs database incidents, each once for all parts of the program. */
  incidents?: IncidentLog;
  /**
   * Files with unencrypted personal data are rewritten this many hours after an erasure. 0 (the default) means that only
   * `Maintenance.purge` does this.
   */
  purgeAfterHours?: number;
  /** The version of this program, which instances announce to each other. Without it, versions are not announced or compared. */
  release?: string;
  /** See `Serving`, and `Maintenance.drop`; shorter in tests. */
  heartbeatMs?: number;
  graceMs?: number;
  standsStillMs?: number;
  /** See `Lease`; shorter in tests. */
  timeoutMs?: number;
};

/** Only if the checkpoint has not moved since it was read, because a rebuild may have set it back. */
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

/** All projections of the product. The instances together keep them up to date with the log. */
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
  /** Incompatible releases that serve the same database, as last logged. */
  private incompatible = '';
  private horizonQuery: Promise<number> | undefined;
  /** The statuses last read by the background work, and when (`performance.now()`). Reading it costs no query. */
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
    }, options.incidents);
    this.snapshots = new Map(
      projections.flatMap(({ snapshots }) => (snapshots ? [[snapshots.streamType, snapshots] as const] : [])),
    );
    this.serving = new Serving(source, projections, store.keyring.ids, options.graceMs, options.release);
    this.maintenance = new Maintenance(projections, source, store, this.serving, logger, options);
    const reserved = options.reserved ?? source;
    this.runners = projections.map(
      (projection) =>
        new ProjectionRunner(
          projection,
          source,
          store,
          new Lease('checkpoints', reserved, options.timeoutMs),
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
            skipped: (one, event) => this.logSkipped(one, event),
            unreadable: ({ name, version }, { message: reason, event }) => {
              const message = 'event skipped: its personal data cannot be decrypted, so its key was altered';
              this.logger.error({
                message,
                projection: name,
                version,
                type: event.type,
                position: event.position,
                reason,
              });
            },
            recovered: ({ name }) => {
              this.logger.log({ message: 'projection recovered', projection: name });
            },
          },
        ),
    );
  }

  /**
   * Logs a skipped event, once per shape. Only a later version of this program knows its shape. That version
   * has its own version of the projection (see `Projection.version`) and never reads these tables. Or the event
   * is damaged, which must not stop the projection.
   */
  private logSkipped({ name, version }: Projection, { type, schema, position, data }: EventRow): void {
    const shape = `${name} ${type} ${schema} ${isObject(data)}`;
    if (this.skipped.has(shape)) return;
    this.skipped.add(shape);
    const message = isObject(data)
      ? 'event skipped: a newer version wrote it in a format this version cannot read'
      : 'event skipped: it is damaged, so the stored history was altered';
    this.logger.warn({ message, projection: name, version, type, schema, position: Number(position) });
  }

  /** Creates missing tables and catches up, so that an instance never serves outdated data after its start. */
  async start(): Promise<void> {
    this.warnOf(await this.serving.beat());
    this.recordMixedVersions(await this.serving.versions());
    for (const runner of this.runners) await runner.prepare();
    await fewAtOnce(this.runners, (runner) => this.catchUpAtStart(runner));
  }

  /** Retries if a waiting instance ended this one's transaction, for example because the machine is overloaded at the start. */
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
    // If this fails, the others consider this instance stopped a minute later.
    await this.serving.leave().catch(() => undefined);
  }

  /**
   * Resolves when every projection (that handles one of these event types) contains everything up to `position`. Never
   * rejects: the events are stored, and a failing projection is reported by the log and the health check.
   */
  async catchUp(position: number, eventTypes?: readonly string[]): Promise<void> {
    const concerned = this.runners.filter(
      ({ projection }) => !eventTypes || projection.handles.some((type) => eventTypes.includes(type)),
    );
    await traced('projections', { position, projections: concerned.length }, () =>
      Promise.all(concerned.map((runner) => this.catchUpOne(runner, position))),
    );
  }

  /** Resolves when every projection (that handles one of these event types) shows everything stored before this call. */
  async catchUpWithLog(eventTypes?: readonly string[]): Promise<void> {
    await this.catchUp(await this.store.lastPosition(), eventTypes);
  }

  /** Whether instances of another version serve a projection. They wait only for their own tables after a write. */
  get hasMixedVersions(): boolean {
    return this.runners.some(({ projection }) => this.mixedVersions.has(projection.name));
  }

  /**
   * For requests while instances of other versions serve: resolves when the projections show everything that those
   * instances have acknowledged. Costs nothing while there are none.
   *
   * @param name only this projection.
   */
  async catchUpWithOthers(name?: string): Promise<void> {
    const concerned = this.runners.filter(
      ({ projection }) =>
        this.mixedVersions.has(projection.name) && (name === undefined || projection.name === name),
    );
    if (concerned.length === 0) return;
    // Acknowledged events are below the horizon, because the instance that acknowledged them had projected them.
    const horizon = await this.currentHorizon();
    await Promise.all(concerned.map((runner) => this.catchUpOne(runner, horizon)));
  }

  /** Callers share one query if they call before it starts. */
  private currentHorizon(): Promise<number> {
    this.horizonQuery ??= nextTurn().then(() => {
      this.horizonQuery = undefined;
      return this.store.horizon();
    });
    return this.horizonQuery;
  }

  private recordMixedVersions(existing: readonly ProjectionVersion[]): void {
    this.mixedVersions = new Set(this.serving.servedByOthers(existing).map(({ name }) => name));
  }

  /** Logs instances of incompatible releases when they change, not with every heartbeat. */
  private warnOf(live: readonly LiveRelease[]): void {
    const { release } = this.options;
    if (release === undefined) return;
    const found = live.filter((other) => !canServeTogether(release, other.release)).map(describeRelease);
    const before = this.incompatible;
    this.incompatible = found.join(', ');
    if (found.length === 0 || this.incompatible === before) return;
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
        if (this.worker.signal.aborted || this.options.incidents?.report(error)) return;
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

  /** The projections of this program, in the versions that it serves. */
  own(): Pick<Projection, 'name' | 'version'>[] {
    return this.runners.map(({ projection: { name, version } }) => ({ name, version }));
  }

  /** How to read the records of these streams from a projection. Undefined if none contains them completely. */
  snapshotsOf(streamType: string): Snapshots | undefined {
    return this.snapshots.get(streamType);
  }

  /** The number of instances without this master key that serve, or crashed within the last minute. */
  instancesWithout(master: Buffer, sql: Sql = this.source): Promise<number> {
    return this.serving.instancesWithout(master, sql);
  }

  /** All versions of all projections in the database, with the instances that serve them. */
  versions(): Promise<ProjectionVersion[]> {
    return this.serving.versions();
  }

  /** The status of every projection of this program, read from the database. */
  async status(sql: Sql = this.source): Promise<ProjectionStatus[]> {
    return this.ownAmong(await this.serving.versions(sql));
  }

  private ownAmong(existing: readonly ProjectionVersion[]): ProjectionStatus[] {
    return this.runners.map(({ projection: { name, version } }) => {
      const own = existing.find((candidate) => candidate.name === name && candidate.version === version);
      const { position = 0, lag = 0, failure = null } = own ?? {};
      return { name, version, position, lag, failure };
    });
  }

  /** Sends due heartbeats, and starts due maintenance. That may take minutes, so it is not awaited. */
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
        if (!this.options.incidents?.report(error))
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
    const existing = await this.serving.versions();
    this.recordMixedVersions(existing);
    const statuses = this.ownAmong(existing);
    this.lastSeen = { statuses, at: performance.now() };
    this.runners.forEach((runner, index) => runner.observe(statuses[index]!));
    await this.advanceThose(statuses.filter(({ lag }) => lag > 0));
  }

  /**
   * SQL that is true if a projection is behind or fails, or if instances of other versions serve, whose appends do not wake
   * this instance. Instances of version 0.1.0 do not announce themselves. They are found by the regular polls.
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
