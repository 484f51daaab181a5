import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Sql } from '#libs/database';
import { type EventStore } from '#libs/event-store';
import { isConnectionLost, ProjectionRunner, type ProjectionStatus } from './projection-runner.js';
import { type Projection, type Snapshots } from './projection.js';
import { type BuildOptions, Rebuild, type RowDifference } from './rebuild.js';

/**
 * How often each instance looks for events that no command of its own brought: of instances that crashed
 * between an append and the projection, and for projections that failed.
 */
const POLL_MS = 500;

/** How long a command tries new connections in place of a broken one before it answers all the same. */
const RECONNECT_MS = 1_000;
const RECONNECT_PAUSE_MS = 20;

type Logger = Pick<LoggerService, 'log' | 'warn' | 'error'>;

/** All read models of the product, kept up with the log by every instance together. */
export class Projections {
  private readonly runners: ProjectionRunner[];
  private readonly snapshots: ReadonlyMap<string, Snapshots>;
  private readonly stopping = new AbortController();
  private polling: Promise<void> | undefined;

  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    projections: readonly Projection[],
    private readonly logger: Logger,
  ) {
    this.snapshots = new Map(
      projections.flatMap(({ snapshots }) => (snapshots ? [[snapshots.streamType, snapshots] as const] : [])),
    );
    this.runners = projections.map(
      (projection) =>
        new ProjectionRunner(projection, source, store, {
          failed: ({ name, version }, position, error) => {
            this.logger.error({
              message: 'projection failed: it stops here, the rest goes on',
              projection: name,
              version,
              position,
              reason: describeError(error),
            });
          },
          recovered: ({ name }) => {
            this.logger.log({ message: 'projection recovered', projection: name });
          },
        }),
    );
  }

  /** Creates what is missing and catches up, so that an instance that serves never serves the past. */
  async start(): Promise<void> {
    for (const runner of this.runners) await runner.prepare();
    await Promise.all(this.runners.map((runner) => runner.catchUpToHorizon()));
  }

  /** Starts the background catch-up. */
  poll(): void {
    this.polling = this.pollUntilStopped();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.polling;
  }

  /**
   * Resolves when every projection (that handles one of these event types) holds all up to `position`. Never
   * rejects: the events are stored, and a read model that fails is the log's and the health report's matter.
   */
  async catchUp(position: number, eventTypes?: readonly string[]): Promise<void> {
    const concerned = this.runners.filter(
      ({ projection }) => !eventTypes || projection.handles.some((type) => eventTypes.includes(type)),
    );
    await Promise.all(concerned.map((runner) => this.catchUpOne(runner, position)));
  }

  private async catchUpOne(runner: ProjectionRunner, position: number): Promise<void> {
    let giveUpAt: number | undefined;
    for (;;) {
      try {
        return await runner.catchUp(position);
      } catch (error) {
        giveUpAt ??= Date.now() + RECONNECT_MS;
        if (isConnectionLost(error) && Date.now() < giveUpAt) {
          await sleep(RECONNECT_PAUSE_MS);
          continue;
        }
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

  /** How far every projection of this program is, as the database says. */
  async status(sql: Sql = this.source): Promise<ProjectionStatus[]> {
    const rows = await sql.query<
      {
        projection: string;
        version: number;
        position: string;
        failed_position: string | null;
        failure: string | null;
        failed_at: Date | null;
        horizon: string;
      }[]
    >(
      `SELECT projection, version, position, failed_position, failure, failed_at, event_horizon() AS horizon
       FROM checkpoints`,
    );
    return this.runners.map(({ projection: { name, version } }) => {
      const row = rows.find((candidate) => candidate.projection === name && candidate.version === version);
      if (!row) return { name, version, position: 0, lag: 0, failure: null };
      const { failed_position, failure, failed_at } = row;
      return {
        name,
        version,
        position: Number(row.position),
        lag: Math.max(0, Number(row.horizon) - Number(row.position)),
        failure: failed_at && { position: Number(failed_position), message: failure ?? '', at: failed_at },
      };
    });
  }

  private async pollUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    let reachable = true;
    while (!signal.aborted) {
      try {
        const statuses = await this.status();
        await Promise.all(
          statuses.map(async (status, index) => {
            const runner = this.runners[index]!;
            runner.observe(status);
            if (status.lag > 0) await runner.catchUpToHorizon();
          }),
        );
        reachable = true;
      } catch (error) {
        // Said once, not twice a second for as long as the database is away.
        const reason = describeError(error);
        if (reachable) this.logger.warn({ message: 'projections cannot be polled', reason });
        reachable = false;
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
