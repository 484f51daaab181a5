import { type LoggerService } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { isForbidden } from '#libs/database';
import { type EventStore } from '#libs/event-store';
import { type Projection, schemaOf } from './projection.js';
import { type BuildOptions, Rebuild, type RowDifference, UnderWay } from './rebuild.js';
import { type Serving, type ProjectionVersion } from './serving.js';

/**
 * How long a version must make no progress before it can be dropped by hand. An instance of version 0.1.0 moves it
 * twice a second. If that instance hangs, PostgreSQL ends its statement after 10 s, and it continues.
 */
const NO_PROGRESS_MS = 12_000;

/** How often progress is checked. */
const CHECK_MS = 500;

export type Purged = {
  /** Projections whose files were rewritten. */
  rebuilt: string[];
  /** Projections that another process is rebuilding. */
  underWay: string[];
  /**
   * Earlier versions that still exist. Their rows of erased people are deleted, but their files may still contain
   * them.
   */
  earlierVersions: { name: string; version: number }[];
  /** Whether PostgreSQL allowed us to end its write-ahead log, so that no earlier part of it must be kept. */
  logEnded: boolean;
};

/** Rebuilds, compares, purges and drops projections. */
export class Maintenance {
  constructor(
    private readonly projections: readonly Projection[],
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly serving: Serving,
    private readonly logger: Pick<LoggerService, 'log'>,
    private readonly options: { purgeAfterHours?: number; standsStillMs?: number },
  ) {}

  /**
   * Rebuilds a projection from the log and replaces the live one, without interrupting anyone.
   *
   * @throws if the projection does not exist, or another process is rebuilding it.
   */
  async rebuild(name: string, options: BuildOptions = {}): Promise<void> {
    await new Rebuild(this.find(name), this.source, this.store, options).swap();
  }

  /** Rebuilds a projection next to the live one. @returns the rows that differ, at most 100. */
  async verify(name: string, options: BuildOptions = {}): Promise<RowDifference[]> {
    return new Rebuild(this.find(name), this.source, this.store, options).compare();
  }

  /**
   * Rewrites the files that contain unencrypted data of erased people, and asks PostgreSQL to end its write-ahead log.
   * Nothing is interrupted.
   */
  async purge(options: BuildOptions = {}): Promise<Purged> {
    const purged: Purged = { rebuilt: [], underWay: [], earlierVersions: [], logEnded: false };
    for (const projection of this.projections) {
      if (!(await this.holdsErased(projection))) continue;
      const done = await this.rebuildUnlessUnderWay(projection, options);
      purged[done ? 'rebuilt' : 'underWay'].push(projection.name);
    }
    purged.earlierVersions = (await this.serving.versions())
      .filter(({ name, version }) => !this.serving.isOwn(name, version))
      .map(({ name, version }) => ({ name, version }));
    purged.logEnded = await this.endLog();
    return purged;
  }

  /** Whether the files of a projection may still contain people who were erased at least this many hours ago. */
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

  /** The role needs pg_checkpoint and the right to call pg_switch_wal. */
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
   * Drops the tables of another version. All their events are in this release's own tables.
   *
   * @throws while an instance uses it, unless forced.
   */
  async drop(name: string, version: number, force = false): Promise<void> {
    if (this.serving.isOwn(name, version)) {
      throw new Error(`This release uses ${name} ${version}. Run projections rebuild instead.`);
    }
    const check = async () =>
      (await this.serving.versions()).find((one) => one.name === name && one.version === version);
    const found = await check();
    if (!found)
      throw new Error(
        `Version ${version} of ${name} does not exist. Run projections status to list all versions.`,
      );
    if (!force) {
      if (found.instances > 0)
        throw new Error(`Instances that use it: ${found.instances}. Stop them, or use --force.`);
      if (found.lag === 0) {
        throw new Error(
          'An instance of version 0.1.0 may use it without reporting this, because its tables are up to date. ' +
            'Wait for the next event, or use --force if no instance of that version runs.',
        );
      }
      const until = performance.now() + (this.options.standsStillMs ?? NO_PROGRESS_MS);
      for (let now: ProjectionVersion | undefined = found; ; now = await check()) {
        if (now?.position !== found.position) {
          throw new Error('An instance of version 0.1.0 uses it. Stop that instance, or use --force.');
        }
        if (now.failingNow) {
          throw new Error(
            'An instance of version 0.1.0 uses it, or did within the last minute, and fails. ' +
              'Stop that instance and wait a minute, or use --force.',
          );
        }
        if (performance.now() >= until) break;
        await sleep(CHECK_MS);
      }
    }
    if (!(await this.serving.drop(name, version, found.position, force))) {
      throw new Error('An instance has started to use it. Stop that instance, or use --force.');
    }
  }

  /**
   * Automatic maintenance: drops versions that no instance uses and leftovers of rebuilds, and purges if configured.
   */
  async tidyUp(signal: AbortSignal): Promise<void> {
    for (const { name, version } of await this.serving.dropUnserved()) {
      this.logger.log({
        message: 'projection tables dropped: no instance uses this version',
        projection: name,
        version,
      });
    }
    const leftovers = await this.source.query<{ nspname: string }[]>(
      `SELECT nspname FROM pg_namespace WHERE nspname ~ '_(old|beside)$'`,
    );
    for (const projection of this.projections) {
      const isLeft = leftovers.some(({ nspname }) => nspname.startsWith(`${schemaOf(projection)}_`));
      if (isLeft) await new Rebuild(projection, this.source, this.store, {}).tidy();
      const { purgeAfterHours = 0 } = this.options;
      if (purgeAfterHours === 0 || !(await this.holdsErased(projection, purgeAfterHours))) continue;
      if (await this.rebuildUnlessUnderWay(projection, { signal, gently: true })) {
        const message = 'projection rebuilt to remove erased data from its files';
        this.logger.log({ message, projection: projection.name });
      }
    }
  }

  private find(name: string): Projection {
    const found = this.projections.find((projection) => projection.name === name);
    if (found) return found;
    const names = this.projections.map((projection) => projection.name);
    throw new Error(`No projection has the name ${name}. Available projections: ${names.join(', ')}.`);
  }
}
