import { hostname } from 'node:os';
import { type DataSource } from 'typeorm';
import { newId } from '#libs/random';
import { inTransaction, Lease, type Sql } from '#libs/database';
import { type ProjectionStatus } from './projection-runner.js';
import { type Projection, schemaOf } from './projection.js';
import { LIVE_RELEASES, type LiveRelease, SILENT_SECONDS } from './releases.js';

/** How often an instance announces the versions that it serves. */
export const HEARTBEAT_MS = 10_000;
/** A version is dropped after no instance has served it for this long. Restarts and rollbacks take less. */
const GRACE_MS = 300_000;
/** An instance moves the versions that it serves at least this often while there are writes. If it hangs, its statement ends after 10 s. */
const MOVES_WITHIN_MS = 10_000;
/** A drop waits for readers of the tables, and new readers wait for the drop. */
const LOCK_TIMEOUT_MS = 2_000;

/** The tables of one version of a projection in the database, of this program or another version of it. */
export type ProjectionVersion = ProjectionStatus & {
  /** Instances that announce it. Those of version 0.1.0 do not: see `dropUnserved`. */
  instances: number;
  /** Whether an instance has recorded a failure within the last minute, which means that it serves this version. */
  failingNow: boolean;
};

type Row = {
  projection: string;
  version: number;
  position: string;
  horizon: string;
  failed_position: string | null;
  failure: string | null;
  failed_at: Date | null;
  failing_now: boolean;
  instances: number;
};

const VERSIONS = `
  SELECT c.projection, c.version, c.position, (SELECT event_horizon()) AS horizon,
    c.failed_position, c.failure, c.failed_at,
    coalesce(c.failed_at > clock_timestamp() - make_interval(secs => $1), false) AS failing_now,
    (SELECT count(*)::int FROM serving s
     WHERE s.projection = c.projection AND s.version = c.version
       AND s.seen_at > clock_timestamp() - make_interval(secs => $1)) AS instances
  FROM checkpoints c ORDER BY c.projection, c.version`;

/** Records which instances serve which versions of the projections, and drops versions that none serves. */
export class Serving {
  private readonly instance = newId();
  /** The positions of versions that no instance announces, and when they last changed (`performance.now()`). */
  private readonly still = new Map<string, { position: number; since: number }>();
  /** The positions of other versions, and until when they count as served because they moved (`performance.now()`). */
  private readonly moved = new Map<string, { position: number; until: number }>();

  constructor(
    private readonly source: DataSource,
    private readonly projections: readonly Projection[],
    /** The ids of this instance's master keys. */
    private readonly masters: readonly Buffer[],
    private readonly graceMs = GRACE_MS,
    /** The version of this program. */
    private readonly release: string | undefined = undefined,
  ) {}

  /**
   * Announces the versions that this instance serves. Call it before checking whether their tables exist.
   *
   * @returns the releases that had instances before this call.
   */
  beat(): Promise<LiveRelease[]> {
    return this.source.query(
      `WITH beat AS (
         INSERT INTO serving (instance, projection, version, seen_at, masters, release, host)
         SELECT $2, s.projection, s.version, clock_timestamp(), $5::bytea[], $6, $7
         FROM unnest($3::text[], $4::int[]) AS s(projection, version)
         ON CONFLICT (instance, projection, version) DO UPDATE SET seen_at = excluded.seen_at
       ) ${LIVE_RELEASES}`,
      [
        SILENT_SECONDS,
        this.instance,
        this.projections.map(({ name }) => name),
        this.projections.map(({ version }) => version),
        this.masters,
        this.release,
        hostname(),
      ],
    );
  }

  /** The number of instances without this master key that serve, or crashed within the last minute. */
  async instancesWithout(master: Buffer, sql: Sql): Promise<number> {
    const [row] = await sql.query<{ count: number }[]>(
      `SELECT count(DISTINCT instance)::int AS count FROM serving
       WHERE seen_at > clock_timestamp() - make_interval(secs => $2) AND NOT coalesce($1 = ANY (masters), false)`,
      [master, SILENT_SECONDS],
    );
    return row!.count;
  }

  async leave(): Promise<void> {
    await this.source.query(
      `DELETE FROM serving WHERE instance = $1 OR seen_at < clock_timestamp() - make_interval(hours => 1)`,
      [this.instance],
    );
  }

  async versions(sql: Sql = this.source): Promise<ProjectionVersion[]> {
    return (await this.rows(sql)).map(
      ({
        projection,
        version,
        position,
        horizon,
        failed_position,
        failure,
        failed_at,
        failing_now,
        instances,
      }) => ({
        name: projection,
        version,
        position: Number(position),
        lag: Math.max(0, Number(horizon) - Number(position)),
        failure: failed_at && { position: Number(failed_position), message: failure ?? '', at: failed_at },
        instances,
        failingNow: failing_now,
      }),
    );
  }

  /**
   * The other versions that instances serve. Instances of version 0.1.0 do not announce theirs, but move the checkpoint
   * twice a second. So a version whose checkpoint moved counts as served for a while.
   */
  servedByOthers(versions: readonly ProjectionVersion[]): ProjectionVersion[] {
    const now = performance.now();
    return versions.filter(({ name, version, position, instances, failingNow }) => {
      if (this.isOwn(name, version) || !this.projections.some((own) => own.name === name)) return false;
      const key = `${name} ${version}`;
      const before = this.moved.get(key);
      if (before && before.position !== position)
        this.moved.set(key, { position, until: now + MOVES_WITHIN_MS });
      if (!before) this.moved.set(key, { position, until: 0 });
      return instances > 0 || failingNow || now < this.moved.get(key)!.until;
    });
  }

  /**
   * Drops the versions that no instance has served for the whole grace period.
   *
   * Instances of version 0.1.0 do not announce the versions that they serve. But they move the checkpoint twice a second
   * while the log grows, or record a failure there. So a version also counts as served while its checkpoint moves, or is at
   * the end of the log.
   *
   * @returns the versions that this call dropped.
   */
  async dropUnserved(): Promise<{ name: string; version: number }[]> {
    const dropped: { name: string; version: number }[] = [];
    for (const row of await this.rows()) {
      const { projection: name, version } = row;
      const key = `${name} ${version}`;
      const position = Number(row.position);
      const before = this.still.get(key);
      const served = row.instances > 0 || row.failing_now || position >= Number(row.horizon);
      if (served || this.isOwn(name, version)) this.still.delete(key);
      else if (before?.position !== position) this.still.set(key, { position, since: performance.now() });
      else if (performance.now() - before.since >= this.graceMs) {
        if (await this.drop(name, version, position)) dropped.push({ name, version });
        this.still.delete(key);
      }
    }
    return dropped;
  }

  /**
   * Drops a version unless an instance serves it or its checkpoint has moved.
   *
   * @param at the expected position of the checkpoint.
   * @param force drops it in any case.
   * @returns whether it was dropped.
   */
  async drop(name: string, version: number, at: number, force = false): Promise<boolean> {
    const schema = schemaOf({ name, version });
    const { timeoutMs } = new Lease('checkpoints', this.source);
    return inTransaction(this.source, { idle: timeoutMs }, async (transaction) => {
      await transaction.query(`SELECT set_config('lock_timeout', $1, true)`, [String(LOCK_TIMEOUT_MS)]);
      // An instance that starts announces the version before it reads this row, and waits for the lock.
      const found = await transaction.query<unknown[]>(
        'SELECT FROM checkpoints WHERE projection = $1 AND version = $2 AND (position = $3 OR $4) FOR UPDATE',
        [name, version, at, force],
      );
      const served = await transaction.query<unknown[]>(
        `SELECT FROM serving WHERE projection = $1 AND version = $2
           AND seen_at > clock_timestamp() - make_interval(secs => $3)`,
        [name, version, SILENT_SECONDS],
      );
      if (found.length === 0 || (served.length > 0 && !force)) return false;
      await transaction.query('DELETE FROM checkpoints WHERE projection = $1 AND version = $2', [
        name,
        version,
      ]);
      for (const part of [schema, `${schema}_old`, `${schema}_beside`]) {
        await transaction.query(`DROP SCHEMA IF EXISTS ${part} CASCADE`);
      }
      return true;
    });
  }

  isOwn(name: string, version: number): boolean {
    return this.projections.some((own) => own.name === name && own.version === version);
  }

  private rows(sql: Sql = this.source): Promise<Row[]> {
    return sql.query<Row[]>(VERSIONS, [SILENT_SECONDS]);
  }
}
