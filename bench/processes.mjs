/** CPU time and memory of processes, from Linux's /proc. NaN on other systems, and for PostgreSQL on another machine. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** A clock tick is a hundredth of a second on every Linux (sysconf(_SC_CLK_TCK)). */
const MICROSECONDS_PER_TICK = 10_000;

/** @returns the CPU time of the process in microseconds */
export function cpuOf(pid) {
  const stat = statOf(pid);
  return stat ? stat.own * MICROSECONDS_PER_TICK : NaN;
}

/** @returns the CPU time of the process and its running and ended children, in microseconds */
export function cpuOfAll(pid) {
  const stat = statOf(pid);
  if (!stat) return NaN;
  const alive = childrenOf(pid).reduce((sum, child) => sum + (statOf(child)?.own ?? 0), 0);
  return (stat.own + stat.ended + alive) * MICROSECONDS_PER_TICK;
}

/**
 * Resolves when the process and its children are nearly idle, so that a round does not include work of the previous one. Resolves
 * after a minute at the latest, because background work may never stop.
 */
export async function quiet(pid) {
  for (let tries = 0; tries < 240; tries += 1) {
    const before = cpuOfAll(pid);
    await sleep(250);
    // Also true if the CPU time is unavailable (NaN).
    if (!(cpuOfAll(pid) - before > 50_000)) return;
  }
}

/** @returns the current (`now`) and the peak (`peak`) resident memory of the process in MiB */
export function memoryOf(pid) {
  const status = read(`/proc/${pid}/status`) ?? '';
  const of = (field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? NaN) / 1024;
  return { now: of('VmRSS'), peak: of('VmHWM') };
}

/** @returns the id of the main PostgreSQL process at `url`, or undefined if it is not on this machine */
export async function postmasterOf(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const stat = statOf(rows[0].pid);
    return stat?.name.startsWith('postgres') ? stat.parent : undefined;
  } finally {
    await client.end();
  }
}

function childrenOf(pid) {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.filter((name) => statOf(name)?.parent === pid);
}

/** The name, the parent, and the user and system time in clock ticks: see proc_pid_stat(5). */
function statOf(pid) {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const end = text.lastIndexOf(')');
  const fields = text
    .slice(end + 2)
    .split(' ')
    .map(Number);
  const [, parent] = fields;
  return {
    name: text.slice(text.indexOf('(') + 1, end),
    parent,
    own: fields[11] + fields[12],
    ended: fields[13] + fields[14],
  };
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
