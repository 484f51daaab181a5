import { type Sql } from '#libs/database';

/** An instance counts as stopped after this many seconds without a heartbeat. */
export const SILENT_SECONDS = 60;

/** The newest release whose instances do not announce their version. */
const LAST_UNANNOUNCED = '0.4.0';

/** A release with instances on a database. `hosts` contains the names that are known. */
export type LiveRelease = { release: string; instances: number; hosts: string[] };

/** Only instances with a heartbeat within the last minute. Works on the tables of every release. */
export const LIVE_RELEASES = `
  SELECT coalesce(release, '${LAST_UNANNOUNCED}') AS release, count(*)::int AS instances,
    coalesce(array_agg(DISTINCT host ORDER BY host) FILTER (WHERE host IS NOT NULL), '{}') AS hosts
  FROM (
    SELECT DISTINCT instance, to_jsonb(s) ->> 'release' AS release, to_jsonb(s) ->> 'host' AS host
    FROM serving s WHERE seen_at > clock_timestamp() - make_interval(secs => $1)
  ) live GROUP BY 1 ORDER BY 1`;

/** The releases with instances on this database. Empty if its tables do not exist yet. */
export async function liveReleases(sql: Sql): Promise<LiveRelease[]> {
  const [table] = await sql.query<{ exists: boolean }[]>(
    `SELECT to_regclass('serving') IS NOT NULL AS exists`,
  );
  return table!.exists ? sql.query<LiveRelease[]>(LIVE_RELEASES, [SILENT_SECONDS]) : [];
}

/**
 * Whether instances of these releases can serve the same database: their minor versions are equal or consecutive. Patch
 * versions do not matter. A release without a version number is always accepted.
 */
export function canServeTogether(one: string, other: string): boolean {
  const [older, newer] = [one, other].map(minorVersion).sort((a, b) => a[0] - b[0] || a[1] - b[1]) as [
    MinorVersion,
    MinorVersion,
  ];
  if (Number.isNaN(older[1] + newer[1])) return true;
  if (older[0] === newer[0]) return newer[1] - older[1] <= 1;
  // The last minor version before 2.0 is not known here.
  return newer[0] - older[0] === 1 && newer[1] === 0;
}

type MinorVersion = [major: number, minor: number];

function minorVersion(release: string): MinorVersion {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(release) ?? [];
  return [Number(major), Number(minor)];
}

/** `2 instances of 0.4.0 (api-1, api-2)`. */
export function describeRelease({ release, instances, hosts }: LiveRelease): string {
  const where = hosts.length > 0 ? ` (${hosts.join(', ')})` : '';
  return `${instances} ${instances === 1 ? 'instance' : 'instances'} of ${release}${where}`;
}
