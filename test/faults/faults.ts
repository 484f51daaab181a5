import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, eventually } from '../processes.js';
import { type Installation, type Route } from './installation.js';

export type Fault = {
  name: string;
  breaks: 'instances' | 'PostgreSQL' | 'Redis' | 'PgBouncer';
  /** Most seconds until every instance acknowledges writes, and nothing else, again. */
  bound: number;
  /** Whether it is in the short form, too. */
  isQuick?: true;
  route?: Route;
  /** Recovery counts from its beginning, for it never ends by itself. */
  isLasting?: true;
  /** Clients come through haproxy, and none of them sees anything fail. */
  isUnnoticed?: true;
  /** Why it cannot be done here; undefined where it can. */
  obstacle?: (installation: Installation) => string | undefined;
  /** Resolves when it is over. @param ms how long it lasts, where that can be chosen */
  strike: (installation: Installation, ms: number) => Promise<void>;
};

/** Where Debian's package has the library. */
const FAKETIME = ['x86_64', 'aarch64']
  .map((processor) => `/usr/lib/${processor}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

/** How many pairs of faults there are in the line of many. */
const PAIRS = 5;

/** For the answers that are under way. */
const DRAIN_MS = 2_000;

const needsPgBouncer = ({ pgbouncer }: Installation) =>
  pgbouncer === undefined ? 'pgbouncer is not installed' : undefined;
const needsHaproxy = ({ haproxy }: Installation) =>
  haproxy === undefined ? 'haproxy is not installed' : undefined;
const needsFaketime = () => (FAKETIME === undefined ? 'faketime is not installed' : undefined);

/** Each line is a fault, under the name that its test has. */
export const FAULTS: Fault[] = [
  {
    name: 'an instance killed (SIGKILL) and started again',
    breaks: 'instances',
    bound: 5,
    isQuick: true,
    async strike({ instances: [instance] }) {
      await instance!.end('SIGKILL');
      await instance!.start();
    },
  },
  {
    name: 'an instance stopped (SIGTERM) and started again',
    breaks: 'instances',
    bound: 5,
    async strike({ instances: [instance] }) {
      await instance!.end('SIGTERM');
      await instance!.start();
    },
  },
  {
    name: 'an instance frozen (SIGSTOP)',
    breaks: 'instances',
    bound: 5,
    async strike({ instances: [instance] }, ms) {
      instance!.freeze();
      await sleep(ms);
      instance!.resume();
    },
  },
  {
    name: 'instances restarted one by one behind haproxy',
    breaks: 'instances',
    bound: 1,
    isUnnoticed: true,
    obstacle: needsHaproxy,
    async strike({ instances, haproxy }) {
      for (const [n, instance] of instances.entries()) {
        await instance.end('SIGTERM');
        await instance.start();
        await eventually(async () => expect(await haproxy!.isReady(n)).toBe(true));
      }
    },
  },
  {
    name: 'PostgreSQL restarted (fast)',
    breaks: 'PostgreSQL',
    bound: 5,
    async strike({ postgres }) {
      await postgres.stop('fast');
      await postgres.start();
    },
  },
  {
    name: 'PostgreSQL crashed (immediate restart)',
    breaks: 'PostgreSQL',
    bound: 5,
    isQuick: true,
    async strike({ postgres }) {
      await postgres.stop('immediate');
      await postgres.start();
    },
  },
  {
    name: 'all connections to PostgreSQL cut',
    breaks: 'PostgreSQL',
    bound: 5,
    isQuick: true,
    strike: cutConnections,
  },
  {
    name: 'PostgreSQL frozen (SIGSTOP)',
    breaks: 'PostgreSQL',
    bound: 5,
    async strike({ postgres }, ms) {
      await postgres.freeze();
      await sleep(ms);
      await postgres.resume();
    },
  },
  {
    name: 'connections to PostgreSQL silent, its locks gone',
    breaks: 'PostgreSQL',
    bound: 10,
    route: 'proxy',
    isLasting: true,
    isQuick: true,
    async strike({ proxy }) {
      proxy.silence({ serverGone: true });
      return Promise.resolve();
    },
  },
  {
    name: 'connections to PostgreSQL silent, its locks held',
    breaks: 'PostgreSQL',
    bound: 10,
    route: 'proxy',
    isLasting: true,
    async strike({ proxy }) {
      proxy.silence();
      return Promise.resolve();
    },
  },
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
      // It gives up where it finds no room for its recovery, and whoever runs it starts it again.
      if (!(await postgres.isRunning())) await postgres.start();
    },
  },
  {
    name: 'connections exhausted',
    breaks: 'PostgreSQL',
    bound: 5,
    async strike(installation, ms) {
      // Refused with the same words as beyond max_connections, and nobody is quicker to take what becomes free.
      await order(installation, 'ALTER ROLE advocacy CONNECTION LIMIT 1');
      await cutConnections(installation);
      await sleep(ms);
      await order(installation, 'ALTER ROLE advocacy CONNECTION LIMIT -1');
    },
  },
  {
    name: 'a long transaction beside',
    breaks: 'PostgreSQL',
    bound: 1,
    strike: (installation, ms) =>
      beside(
        installation,
        ms,
        'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM events; CREATE TABLE beside (n int)',
      ),
  },
  {
    name: 'the events locked exclusively beside',
    breaks: 'PostgreSQL',
    bound: 5,
    strike: (installation, ms) => beside(installation, ms, 'BEGIN; LOCK TABLE events'),
  },
  {
    name: 'Redis killed, later started again',
    breaks: 'Redis',
    bound: 1,
    isQuick: true,
    strike: (installation, ms) => installation.restartRedis(ms),
  },
  {
    name: 'Redis restarted',
    breaks: 'Redis',
    bound: 1,
    strike: (installation) => installation.restartRedis(0),
  },
  { name: 'Redis emptied', breaks: 'Redis', bound: 1, strike: (installation) => installation.emptyRedis() },
  {
    name: 'Redis frozen (SIGSTOP)',
    breaks: 'Redis',
    bound: 1,
    async strike({ redis }, ms) {
      redis.pause();
      await sleep(ms);
      redis.resume();
    },
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
    async strike({ postgres }) {
      await postgres.stop('fast');
      await postgres.start();
    },
  },
  {
    name: 'the clocks of two instances an hour off, each way',
    breaks: 'instances',
    bound: 5,
    obstacle: needsFaketime,
    async strike({ instances: [early, late] }, ms) {
      await restart(early!, clock('-1h'));
      await restart(late!, clock('+1h'));
      await sleep(ms);
      await restart(early!);
      await restart(late!);
    },
  },
  {
    name: 'the clock of PostgreSQL an hour ahead, then set back',
    breaks: 'PostgreSQL',
    bound: 5,
    obstacle: needsFaketime,
    async strike({ postgres }, ms) {
      await postgres.stop('fast');
      await postgres.start(clock('+1h'));
      await sleep(ms);
      await postgres.stop('fast');
      await postgres.start();
    },
  },
];

/** Instances of an earlier version replaced by this one's. Some know no SHUTDOWN_DELAY: the operator drains them. */
export function upgrade(version: string): Fault {
  return {
    name: `instances of ${version} upgraded one by one behind haproxy`,
    breaks: 'instances',
    bound: 1,
    isUnnoticed: true,
    obstacle: needsHaproxy,
    async strike({ instances, haproxy }) {
      for (const [n, instance] of instances.entries()) {
        await haproxy!.drain(n);
        await sleep(DRAIN_MS);
        await instance.end('SIGTERM');
        await instance.start();
        await haproxy!.admit(n);
        await eventually(async () => expect(await haproxy!.isReady(n)).toBe(true));
      }
    },
  };
}

/** Pairs of faults at once, of different things, one pair after another as the seed has it. */
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

/** A linear congruential generator (Numerical Recipes): numbers from 0 to 1, the same for the same seed. */
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

/** Of the superuser, whose connections are kept free. */
async function order(installation: Installation, statement: string): Promise<void> {
  const client = await installation.connect();
  await client.query(statement);
  await client.end();
}

/** Somebody else's transaction, which does this, lasts so long and is rolled back. */
async function beside(installation: Installation, ms: number, statements: string): Promise<void> {
  const client = await installation.connect();
  await client.query(statements);
  await sleep(ms);
  await client.end();
}

async function restart(instance: Installation['instances'][number], environment?: Environment) {
  await instance.end('SIGKILL');
  await instance.start(environment);
}

/** What makes a program see another time of day; how long things take stays as it is. */
function clock(offset: string): Environment {
  return { LD_PRELOAD: FAKETIME!, FAKETIME: offset, DONT_FAKE_MONOTONIC: '1' };
}
