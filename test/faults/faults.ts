import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment } from '../processes.js';
import { type Installation, type Route } from './installation.js';

export type Fault = {
  name: string;
  /** Most seconds until every instance acknowledges writes, and nothing else, again. */
  bound: number;
  /** Whether it is in the short form, too. */
  isQuick?: true;
  route?: Route;
  /** Recovery counts from its beginning, for it never ends by itself. */
  isLasting?: true;
  /** Why it cannot be done here; undefined where it can. */
  obstacle?: (installation: Installation) => string | undefined;
  /** Resolves when it is over. @param ms how long it lasts, where that can be chosen */
  strike: (installation: Installation, ms: number) => Promise<void>;
};

/** Connections of an ordinary role are refused beyond these, of which PostgreSQL keeps three for superusers. */
const MOST_CONNECTIONS = 100;

/** Where Debian's package has the library. */
const FAKETIME = ['x86_64', 'aarch64']
  .map((processor) => `/usr/lib/${processor}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

const needsPgBouncer = ({ pgbouncer }: Installation) =>
  pgbouncer === undefined ? 'pgbouncer is not installed' : undefined;
const needsFaketime = () => (FAKETIME === undefined ? 'faketime is not installed' : undefined);

/** Each line is a fault, under the name that its test has. */
export const FAULTS: Fault[] = [
  {
    name: 'an instance killed (SIGKILL) and started again',
    bound: 5,
    isQuick: true,
    async strike({ instances: [instance] }) {
      await instance!.end('SIGKILL');
      await instance!.start();
    },
  },
  {
    name: 'an instance stopped (SIGTERM) and started again',
    bound: 5,
    async strike({ instances: [instance] }) {
      await instance!.end('SIGTERM');
      await instance!.start();
    },
  },
  {
    name: 'an instance frozen (SIGSTOP)',
    bound: 5,
    async strike({ instances: [instance] }, ms) {
      instance!.freeze();
      await sleep(ms);
      instance!.resume();
    },
  },
  {
    name: 'PostgreSQL restarted (fast)',
    bound: 5,
    async strike({ postgres }) {
      await postgres.stop('fast');
      await postgres.start();
    },
  },
  {
    name: 'PostgreSQL crashed (immediate restart)',
    bound: 5,
    isQuick: true,
    async strike({ postgres }) {
      await postgres.stop('immediate');
      await postgres.start();
    },
  },
  {
    name: 'all connections to PostgreSQL cut',
    bound: 5,
    isQuick: true,
    strike: cutConnections,
  },
  {
    name: 'PostgreSQL frozen (SIGSTOP)',
    bound: 5,
    async strike({ postgres }, ms) {
      await postgres.freeze();
      await sleep(ms);
      await postgres.resume();
    },
  },
  {
    name: 'connections to PostgreSQL silent, its locks gone',
    bound: 10,
    route: 'proxy',
    isLasting: true,
    async strike({ proxy }) {
      proxy.silence({ serverGone: true });
      return Promise.resolve();
    },
  },
  {
    name: 'connections to PostgreSQL silent, its locks held',
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
    bound: 5,
    async strike(installation, ms) {
      await cutConnections(installation);
      const taken = [];
      for (let n = 0; n < MOST_CONNECTIONS; n += 1) {
        const client = await installation.connect().catch(() => undefined);
        if (client === undefined) break;
        taken.push(client);
      }
      await sleep(ms);
      await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
    },
  },
  {
    name: 'a long transaction beside',
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
    bound: 5,
    strike: (installation, ms) => beside(installation, ms, 'BEGIN; LOCK TABLE events'),
  },
  {
    name: 'Redis killed, later started again',
    bound: 1,
    isQuick: true,
    strike: (installation, ms) => installation.restartRedis(ms),
  },
  {
    name: 'Redis restarted',
    bound: 1,
    strike: (installation) => installation.restartRedis(0),
  },
  { name: 'Redis emptied', bound: 1, strike: (installation) => installation.emptyRedis() },
  {
    name: 'Redis frozen (SIGSTOP)',
    bound: 1,
    async strike({ redis }, ms) {
      redis.pause();
      await sleep(ms);
      redis.resume();
    },
  },
  {
    name: 'PgBouncer restarted',
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

async function cutConnections(installation: Installation): Promise<void> {
  const client = await installation.connect();
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
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
  await instance.end('SIGTERM');
  await instance.start(environment);
}

/** What makes a program see another time of day; how long things take stays as it is. */
function clock(offset: string): Environment {
  return { LD_PRELOAD: FAKETIME!, FAKETIME: offset, DONT_FAKE_MONOTONIC: '1' };
}
