import { hostname } from 'node:os';
import { type DataSource } from 'typeorm';
import { newId } from '#libs/random';
import { inTransaction, Lease, type Sql } from '#libs/database';
import { type ProjectionStatus } from './projection-runner.js';
import { type Projection, schemaOf } from './projection.js';
import { LIVE_RELEASES, type LiveRelease, SILENT_SECONDS } from './releases.js';

/** How often an instance says which versions it serves. */
export const HEARTBEAT_MS = 10_000;
/** Before it is dropped, a version must have been served by nobody for so long: restarts and rollbacks take less. */
const GRACE_MS = 300_000;
/** Who serves a version moves it while there are writes; an instance that hangs is ended after 10 s. */
const MOVES_WITHIN_MS = 10_000;
/** A drop waits for readers of the tables, and whoever comes after it waits for the drop. */
const LOCK_TIMEOUT_MS = 2_000;

/** The tables of one version of a projection, of this program or another, as they stand in the database. */
export type ProjectionVersion = ProjectionStatus & {
  /** Instances that say they serve it. Those of version 0.1.0 do not: see `dropUnserved`. */
  instances: number;
  /** Whether somebody has noted within the last minute that it fails: who does that serves it. */
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

const STANDING = `
  SELECT c.projection, c.version, c.position, (SELECT event_horizon()) AS horizon,
    c.failed_position, c.failure, c.failed_at,
    coalesce(c.failed_at > clock_timestamp() - make_interval(secs => $1), false) AS failing_now,
    (SELECT count(*)::int FROM serving s
     WHERE s.projection = c.projection AND s.version = c.version
       AND s.seen_at > clock_timestamp() - make_interval(secs => $1)) AS instances
  FROM checkpoints c ORDER BY c.projection, c.version`;

/** Who serves which versions of the read models; drops those that nobody does. */
export class Serving {
  private readonly instance = newId();
  /** Where versions stood still that nobody says to serve, and since when (in this process's own time). */
  private readonly still = new Map<string, { position: number; since: number }>();
  /** Where other versions were seen, and until when they are taken for served because they moved. */
  private readonly moved = new Map<string, { position: number; until: number }>();

  constructor(
    private readonly source: DataSource,
    private readonly projections: readonly Projection[],
    /** Ids of the master keys that this instance has. */
    private readonly masters: readonly Buffer[],
    private readonly graceMs = GRACE_MS,
    /** The version of this program. */
    private readonly release: string | undefined = undefined,
  ) {}

  /**
   * Says that this instance serves its versions. To be said before it looks for their tables.
   *
   * @returns the releases that had instances before.
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

  /** Instances that serve, or were ended without notice within the last minute, and do not have this master key. */
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
   * Those of other versions that somebody serves. Who is of version 0.1.0 does not say so, but moves the checkpoint
   * twice a second: it is taken to serve for as long as that takes, seen by looks that are as frequent.
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
   * Drops the versions that nobody has served for the whole grace.
   *
   * Instances of version 0.1.0 do not say what they serve. Whoever does, though, moves the checkpoint twice a
   * second as the log grows, or notes there that it fails. So a version is taken for served also while its checkpoint
   * moves, or has nothing to move to.
   *
   * @returns what was dropped here.
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
   * @param at the checkpoint must stand there still.
   * @returns whether it was dropped; not if somebody serves it.
   */
  async drop(name: string, version: number, at: number, force = false): Promise<boolean> {
    const schema = schemaOf({ name, version });
    const { timeoutMs } = new Lease('checkpoints', this.source);
    return inTransaction(this.source, { idle: timeoutMs }, async (transaction) => {
      await transaction.query(`SELECT set_config('lock_timeout', $1, true)`, [String(LOCK_TIMEOUT_MS)]);
      // Whoever begins to serve it has said so before it looks for this row, and waits for it.
      const stands = await transaction.query<unknown[]>(
        'SELECT FROM checkpoints WHERE projection = $1 AND version = $2 AND (position = $3 OR $4) FOR UPDATE',
        [name, version, at, force],
      );
      const served = await transaction.query<unknown[]>(
        `SELECT FROM serving WHERE projection = $1 AND version = $2
           AND seen_at > clock_timestamp() - make_interval(secs => $3)`,
        [name, version, SILENT_SECONDS],
      );
      if (stands.length === 0 || (served.length > 0 && !force)) return false;
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
    return sql.query<Row[]>(STANDING, [SILENT_SECONDS]);
  }
}
