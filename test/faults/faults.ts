import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresServer, type SilentProxy, type StopMode } from '#libs/testing';
import { schemaOf } from '#libs/projections';
import { contactsProjection } from '../../src/contacts/index.js';
import { type Environment, eventually } from '../processes.js';
import { type Installation, type Instance, type Route } from './installation.js';

export type Fault = {
  name: string;
  breaks: 'instances' | 'PostgreSQL' | 'Redis' | 'PgBouncer';
  /** The maximum number of seconds until every instance acknowledges all writes again. */
  bound: number;
  route?: Route;
  /** The fault never ends by itself, so recovery counts from its beginning. */
  isLasting?: true;
  /** No client may see a failure, and no instance may log one. */
  isUnnoticed?: true;
  /** Clients connect through haproxy. */
  isBalanced?: true;
  /** Why the fault is impossible here, or undefined if it is possible. */
  obstacle?: (installation: Installation) => string | undefined;
  /** Causes the fault, and resolves when it is over. @param ms the duration of faults that do not end by themselves */
  strike: (installation: Installation, ms: number) => Promise<void>;
};

/** The path of the library in Debian's package. */
const FAKETIME = ['x86_64', 'aarch64']
  .map((processor) => `/usr/lib/${processor}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

/** The number of pairs in the test with many faults. */
const PAIRS = 5;

const needsPgBouncer = ({ pgbouncer }: Installation) =>
  pgbouncer === undefined ? 'pgbouncer is not installed' : undefined;
const needsHaproxy = ({ haproxy }: Installation) =>
  haproxy === undefined ? 'haproxy is not installed' : undefined;
const needsFaketime = () => (FAKETIME === undefined ? 'faketime is not installed' : undefined);

/** The faults. Their names are the titles of their tests. */
export const FAULTS: Fault[] = [
  {
    name: 'an instance killed (SIGKILL) and restarted',
    breaks: 'instances',
    bound: 5,
    strike: ({ instances: [instance] }) => restartInstance(instance!, 'SIGKILL'),
  },
  {
    name: 'an instance stopped (SIGTERM) and restarted',
    breaks: 'instances',
    bound: 5,
    strike: ({ instances: [instance] }) => restartInstance(instance!, 'SIGTERM'),
  },
  {
    name: 'an instance frozen (SIGSTOP)',
    breaks: 'instances',
    bound: 5,
    strike: ({ instances: [instance] }, ms) => frozen(instance!, ms),
  },
  {
    name: 'instances restarted one by one behind haproxy',
    breaks: 'instances',
    bound: 1,
    isUnnoticed: true,
    isBalanced: true,
    obstacle: needsHaproxy,
    async strike(installation) {
      for (const instance of installation.instances) {
        await restartInstance(instance, 'SIGTERM');
        await installation.untilBalanced();
      }
    },
  },
  {
    name: 'PostgreSQL restarted (fast)',
    breaks: 'PostgreSQL',
    bound: 5,
    strike: ({ postgres }) => restartPostgres(postgres, 'fast'),
  },
  {
    name: 'PostgreSQL crashed (immediate restart)',
    breaks: 'PostgreSQL',
    bound: 5,
    strike: ({ postgres }) => restartPostgres(postgres, 'immediate'),
  },
  {
    name: 'all connections to PostgreSQL cut',
    breaks: 'PostgreSQL',
    bound: 5,
    strike: cutConnections,
  },
  {
    name: 'PostgreSQL frozen (SIGSTOP)',
    breaks: 'PostgreSQL',
    bound: 5,
    strike: ({ postgres }, ms) => frozen(postgres, ms),
  },
  {
    name: 'connections to PostgreSQL silent, its locks gone',
    ...silence({ serverGone: true }),
  },
  { name: 'connections to PostgreSQL silent, its locks held', ...silence() },
  {
    name: 'PostgreSQL unreachable (connections refused)',
    breaks: 'PostgreSQL',
    bound: 5,
    route: 'proxy',
    async strike({ proxy }, ms) {
      proxy.refuse();
      proxy.cut();
      await sleep(ms);
      proxy.accept();
    },
  },
  {
    name: 'disk full',
    breaks: 'PostgreSQL',
    bound: 10,
    obstacle: ({ disk }) => disk.problem,
    async strike({ disk, postgres }, ms) {
      await disk.fill();
      await sleep(ms);
      await disk.empty();
      // PostgreSQL stops if the disk has no room for recovery, and its supervisor starts it again.
      if (!(await postgres.isRunning())) await postgres.start();
    },
  },
  {
    name: 'connections exhausted',
    breaks: 'PostgreSQL',
    bound: 5,
    async strike(installation, ms) {
      // The error is the same as beyond max_connections, but no other client can take the freed connections.
      await order(installation, 'ALTER ROLE advocacy CONNECTION LIMIT 1');
      await cutConnections(installation);
      await sleep(ms);
      await order(installation, 'ALTER ROLE advocacy CONNECTION LIMIT -1');
    },
  },
  {
    name: 'a long transaction of another client',
    breaks: 'PostgreSQL',
    bound: 2,
    strike: (installation, ms) =>
      beside(
        installation,
        ms,
        'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM events; CREATE TABLE beside (n int)',
      ),
  },
  {
    name: 'the events locked exclusively by another client',
    breaks: 'PostgreSQL',
    bound: 5,
    strike: (installation, ms) => beside(installation, ms, 'BEGIN; LOCK TABLE events'),
  },
  {
    name: 'deadlocks of appends and projections with another client',
    breaks: 'PostgreSQL',
    bound: 5,
    isUnnoticed: true,
    async strike(installation) {
      await deadlock(installation, 'unique_keys', 'events');
      await deadlock(installation, `${schemaOf(contactsProjection)}.contacts`, 'checkpoints');
    },
  },
  {
    name: 'Redis killed and restarted later',
    breaks: 'Redis',
    bound: 2,
    strike: (installation, ms) => installation.restartRedis(ms),
  },
  {
    name: 'Redis restarted',
    breaks: 'Redis',
    bound: 2,
    strike: (installation) => installation.restartRedis(0),
  },
  { name: 'Redis emptied', breaks: 'Redis', bound: 2, strike: (installation) => installation.emptyRedis() },
  {
    name: 'Redis frozen (SIGSTOP)',
    breaks: 'Redis',
    bound: 2,
    strike: ({ redis }, ms) => frozen(redis, ms),
  },
  {
    name: 'PgBouncer restarted',
    breaks: 'PgBouncer',
    bound: 5,
    route: 'pgbouncer',
    obstacle: needsPgBouncer,
    async strike({ pgbouncer }) {
      await pgbouncer!.stop();
      await pgbouncer!.start();
    },
  },
  {
    name: 'PostgreSQL restarted behind PgBouncer',
    breaks: 'PostgreSQL',
    bound: 10,
    route: 'pgbouncer',
    obstacle: needsPgBouncer,
    strike: ({ postgres }) => restartPostgres(postgres, 'fast'),
  },
  {
    name: 'the clocks of two instances an hour ahead and behind',
    breaks: 'instances',
    bound: 5,
    obstacle: needsFaketime,
    async strike({ instances: [early, late] }, ms) {
      await restartInstance(early!, 'SIGKILL', clock('-1h'));
      await restartInstance(late!, 'SIGKILL', clock('+1h'));
      await sleep(ms);
      await restartInstance(early!, 'SIGKILL');
      await restartInstance(late!, 'SIGKILL');
    },
  },
  {
    name: 'the clock of PostgreSQL an hour ahead, then set back',
    breaks: 'PostgreSQL',
    bound: 5,
    obstacle: needsFaketime,
    async strike({ postgres }, ms) {
      await restartPostgres(postgres, 'fast', clock('+1h'));
      await sleep(ms);
      await restartPostgres(postgres, 'fast');
    },
  },
];

/** Replaces instances of an earlier version with this one's. */
export function upgrade(version: string): Fault {
  return {
    name: `instances of ${version} upgraded one by one behind haproxy`,
    breaks: 'instances',
    bound: 1,
    isUnnoticed: true,
    isBalanced: true,
    obstacle: needsHaproxy,
    async strike(installation) {
      for (const [n, instance] of installation.instances.entries()) {
        await installation.haproxy!.drain(n);
        await restartInstance(instance, 'SIGTERM');
        await installation.haproxy!.admit(n);
        await installation.untilBalanced();
      }
    },
  };
}

/** Causes pairs of faults in different components, chosen by the seed, one pair after another. */
export function manyFaults(seed: number): Fault {
  const random = generator(seed);
  const pick = (faults: readonly Fault[]) => faults[Math.floor(random() * faults.length)]!;
  return {
    name: `many faults, seed ${seed}`,
    breaks: 'PostgreSQL',
    bound: 10,
    async strike(installation, ms) {
      const possible = FAULTS.filter(
        ({ route, isUnnoticed, obstacle }) =>
          route === undefined && !isUnnoticed && obstacle?.(installation) === undefined,
      );
      for (let pair = 0; pair < PAIRS; pair += 1) {
        const one = pick(possible);
        const other = pick(possible.filter(({ breaks }) => breaks !== one.breaks));
        await Promise.all([one, other].map((fault) => fault.strike(installation, random() * ms)));
      }
    },
  };
}

/** A linear congruential generator (Numerical Recipes) of numbers from 0 to 1, reproducible by seed. */
function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

function cutConnections(installation: Installation): Promise<void> {
  return order(
    installation,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
}

/** Runs a statement as the superuser, for whom PostgreSQL reserves connections. */
async function order(installation: Installation, statement: string): Promise<void> {
  const client = await installation.connect();
  await client.query(statement);
  await client.end();
}

/** Runs statements in another client's transaction, which stays open for this long and is rolled back. */
async function beside(installation: Installation, ms: number, statements: string): Promise<void> {
  const client = await installation.connect();
  await client.query(statements);
  await sleep(ms);
  await client.end();
}

/**
 * Causes a deadlock with another client. It locks the first table, waits until an instance holds the second and
 * waits for the first, and then locks the second. PostgreSQL aborts the instance's transaction. Readers are not
 * blocked.
 */
async function deadlock(installation: Installation, first: string, second: string): Promise<void> {
  const undone = async () => (await installation.postgres.readLog()).split('deadlock detected').length;
  const before = await undone();
  const client = await installation.connect();
  // The session that checks for deadlocks is aborted. With this timeout, an instance checks first.
  await client.query(`SET deadlock_timeout = '1min'`);
  await client.query(`BEGIN; LOCK TABLE ${first} IN SHARE ROW EXCLUSIVE MODE`);
  await eventually(async () => {
    const { rowCount } = await client.query(
      `SELECT FROM pg_locks waiting JOIN pg_locks held USING (pid)
       WHERE waiting.relation = '${first}'::regclass AND NOT waiting.granted
         AND held.relation = '${second}'::regclass AND held.granted`,
    );
    expect(rowCount).toBeGreaterThan(0);
  });
  await client.query(`LOCK TABLE ${second}`);
  await client.end();
  expect(await undone()).toBeGreaterThan(before);
}

async function restartInstance(instance: Instance, signal: 'SIGTERM' | 'SIGKILL', environment?: Environment) {
  await instance.end(signal);
  await instance.start(environment);
}

async function restartPostgres(postgres: PostgresServer, mode: StopMode, environment?: Environment) {
  await postgres.stop(mode);
  await postgres.start(environment);
}

/** Freezes a process by SIGSTOP for this long. */
async function frozen(one: { freeze: () => unknown; resume: () => unknown }, ms: number): Promise<void> {
  await one.freeze();
  await sleep(ms);
  await one.resume();
}

/** Silences the existing connections for good. */
function silence(how?: Parameters<SilentProxy['silence']>[0]): Omit<Fault, 'name'> {
  return {
    breaks: 'PostgreSQL',
    bound: 10,
    route: 'proxy',
    isLasting: true,
    strike: ({ proxy }) => Promise.resolve(proxy.silence(how)),
  };
}

/** The environment that shifts a program's clock. Monotonic time is unchanged. */
function clock(offset: string): Environment {
  return { LD_PRELOAD: FAKETIME!, FAKETIME: offset, DONT_FAKE_MONOTONIC: '1' };
}
