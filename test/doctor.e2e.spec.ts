import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { JsonLogger } from '#libs/operations';
import {
  createTestDatabase,
  findFreePort,
  findProgram,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '#libs/testing';
import { inspectConfig, readConfig } from '../src/config.js';
import { examine, type Examined } from '../src/doctor/index.js';
import { openRuntime } from '../src/runtime.js';
import { cli, Deployment, type Environment, eventually, Program } from './processes.js';

const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');
const ORGANIZATION = '0197a3c0-0000-7000-8000-000000000001';

/** A cluster set as none should be, for all that only its superuser can break. */
let cluster: PostgresServer;
let directory: string;
/** Of a database that a server has used, and that nothing is wrong with: others are copies of it. */
let model: string;
let redis: RedisServer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'doctor-'));
  cluster = await startPostgres({
    directory,
    initdb: ['--no-data-checksums'],
    settings: {
      fsync: 'off',
      full_page_writes: 'off',
      autovacuum: 'off',
      log_statement: 'all',
      log_parameter_max_length_on_error: -1,
      archive_mode: 'on',
      archive_command: 'false',
      max_connections: 60,
    },
  });
  redis = await startRedis();
  const database = await createTestDatabase(cluster.applicationUrl);
  const config = readConfig({ DATABASE_URL: database.url, ENCRYPTION_KEY });
  const runtime = await openRuntime(config, new JsonLogger('silent'));
  const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
  await runtime.store.append({
    organizationId: ORGANIZATION,
    metadata,
    writes: [
      {
        streamType: 'organization',
        streamId: ORGANIZATION,
        expectedVersion: 0,
        events: [{ type: 'OrganizationCreated', data: { name: 'Rivers' } }],
      },
    ],
  });
  await runtime.sealer.seal();
  await runtime.projections.catchUp(await runtime.store.horizon());
  await runtime.close();
  await database.source.destroy();
  model = new URL(database.url).pathname.slice(1);
});
afterAll(async () => {
  await cluster.remove();
  await rm(directory, { recursive: true });
  await redis.stop();
});

type Run = (text: string, values?: unknown[]) => Promise<any[]>;

/** Works as the superuser in a database of the cluster. */
async function asSuperuser<Result>(name: string, work: (run: Run) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: urlOf(name, cluster.url) });
  await client.connect();
  try {
    return await work(async (text, values) => (await client.query(text, values)).rows);
  } finally {
    await client.end();
  }
}

function urlOf(name: string, server = cluster.applicationUrl): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** A copy of the model. */
async function newDatabase(options = `TEMPLATE ${model}`): Promise<string> {
  const name = `sick_${randomBytes(6).toString('hex')}`;
  await asSuperuser('postgres', (run) => run(`CREATE DATABASE ${name} OWNER advocacy ${options}`));
  return name;
}

async function diagnose(environment: Environment): Promise<Examined[]> {
  const found: Examined[] = [];
  for await (const finding of examine(inspectConfig(environment))) found.push(finding);
  return found;
}

/** An illness, what brings it about, and the finding that tells of it. */
type Illness = {
  check: string;
  level: 'warning' | 'problem';
  message: RegExp;
  /** Answers variables to set, DATABASE_URL among them if it is another. */
  harm: (run: Run, name: string) => Promise<unknown>;
};

const illness =
  (level: Illness['level']) =>
  (check: string, message: RegExp, harm: Illness['harm'] = () => Promise.resolve()): Illness => ({
    level,
    check,
    message,
    harm,
  });
const problem = illness('problem');
const warning = illness('warning');

const sql =
  (...statements: string[]) =>
  async (run: Run) => {
    for (const statement of statements) await run(statement);
  };
const variables = (environment: Environment) => () => Promise.resolve(environment);
const address = (change: (url: URL) => void) => (_: Run, name: string) => {
  const url = new URL(urlOf(name));
  change(url);
  return Promise.resolve({ DATABASE_URL: url.href });
};
const setting = (name: string, value: string) => (run: Run, database: string) =>
  run(`ALTER DATABASE ${database} SET ${name} = ${value}`);
const event = (at: string, type = 'Anything') =>
  `INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema, data, metadata,
     recorded_at, digest)
   SELECT nextval('events_position'), '${ORGANIZATION}', 'any', gen_random_uuid(), 1, gen_random_uuid(), '${type}', 1, '{}',
     '{"actor": {"type": "system", "id": "test"}, "requestId": "test"}', ${at}, '\\x00'`;
const instances = (count: number) =>
  `INSERT INTO serving SELECT gen_random_uuid(), 'contacts', 999, clock_timestamp() FROM generate_series(1, ${count})`;

const ILLNESSES: Illness[] = [
  problem('configuration', /^PORT must be /, variables({ PORT: 'abc' })),
  problem('configuration', /^DATABASE_URL must be /, variables({ DATABASE_URL: 'rubbish' })),
  problem('configuration', /^ENCRYPTION_KEY must be /, variables({ ENCRYPTION_KEY: 'rubbish' })),
  problem('configuration', /^REDIS_URL must be /, variables({ REDIS_URL: 'rubbish' })),
  problem('configuration', /^PUBLIC_URL must be /, variables({ PUBLIC_URL: 'rubbish' })),
  warning('configuration', /^PUBLIC_URL is not set/),
  warning('configuration', /^PUBLIC_URL is not https/, variables({ PUBLIC_URL: 'http://api.example.org' })),
  warning('configuration', /^TRUST_PROXY=true/, variables({ TRUST_PROXY: 'true' })),
  warning('configuration', /^SIGNING_KEY is the/, variables({ SIGNING_KEY: ENCRYPTION_KEY })),

  problem(
    'database',
    /ECONNREFUSED/,
    address((url) => (url.port = '1')),
  ),
  problem(
    'database',
    /does not exist/,
    address((url) => (url.pathname = '/nothing')),
  ),
  problem(
    'database',
    /"nobody" does not exist/,
    address((url) => (url.username = 'nobody')),
  ),
  problem('database', /too many connections/, (run, name) =>
    run(`ALTER DATABASE ${name} CONNECTION LIMIT 0`),
  ),
  problem('database', /encoding is SQL_ASCII/, async () => ({
    DATABASE_URL: urlOf(await newDatabase("TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")),
  })),
  warning('database', /^The collation of the system/, async () => {
    const name = await newDatabase(
      "TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'",
    );
    await asSuperuser(name, (run) =>
      run(`UPDATE pg_database SET datcollversion = '0' WHERE datname = $1`, [name]),
    );
    return { DATABASE_URL: urlOf(name) };
  }),

  warning('role', /is a superuser/, (_, name) => Promise.resolve({ DATABASE_URL: urlOf(name, cluster.url) })),
  problem('role', /may make no schemas/, (run, name) => run(`ALTER DATABASE ${name} OWNER TO postgres`)),
  problem(
    'role',
    /may not call pg_terminate_backend/,
    sql('REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC'),
  ),
  problem('role', /may UPDATE, DELETE the events/, sql('GRANT UPDATE, DELETE ON events TO advocacy')),
  problem(
    'role',
    /trigger .* not always on/,
    sql('ALTER TABLE events DISABLE TRIGGER events_are_append_only'),
  ),
  problem('role', /trigger .* is gone/, sql('DROP TRIGGER events_are_append_only ON events')),
  problem(
    'role',
    /does not own serving/,
    sql('ALTER TABLE serving OWNER TO postgres', 'GRANT SELECT ON serving TO advocacy'),
  ),

  problem('settings', /^fsync is off/),
  problem('settings', /^full_page_writes is off/),
  problem('settings', /^synchronous_commit is off/, (run, name) =>
    setting('synchronous_commit', 'off')(run, name),
  ),
  problem('settings', /read-only by default/, (run, name) =>
    setting('default_transaction_read_only', 'on')(run, name),
  ),
  problem('settings', /^Transactions are serializable/, (run, name) =>
    setting('default_transaction_isolation', 'serializable')(run, name),
  ),
  problem('settings', /^DateStyle is German/, (run, name) => setting('DateStyle', 'German')(run, name)),
  warning('settings', /^autovacuum is off/),
  warning('settings', /no data checksums/),
  warning('settings', /^log_statement is all/),
  warning('settings', /^log_error_verbosity is default/),
  warning('settings', /logged with their values/),
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'].map(
    (name) =>
      warning('settings', new RegExp(`^${name} is 60000 ms`), (run: Run, database: string) =>
        setting(name, '60000')(run, database),
      ),
  ),

  problem('connections', /some instances will be refused/, variables({ DATABASE_POOL_SIZE: '60' })),
  problem('connections', /5 × \(10 \+ 3\), of 57: some/, sql(instances(5))),
  warning('connections', /a deployment beside the running instances/, sql(instances(4))),

  warning(
    'replica',
    /^The replica cannot be asked: /,
    variables({ DATABASE_REPLICA_URL: 'postgres://advocacy@127.0.0.1:1/advocacy' }),
  ),
  warning('replica', /a server that follows none/, (_, name) =>
    Promise.resolve({ DATABASE_REPLICA_URL: urlOf(name) }),
  ),

  warning('extensions', /^pg_trgm is not there/, sql('DROP EXTENSION pg_trgm CASCADE')),

  problem(
    'clock',
    /was set back: the last event is from \d{4}\.\d s ahead/,
    sql(event(`clock_timestamp() + interval '1 hour'`)),
  ),

  problem('encryption key', /^ENCRYPTION_KEY is not the key/, variables({ ENCRYPTION_KEY: OTHER_KEY })),
  problem('encryption key', /^There is no key/, variables({ ENCRYPTION_KEY: 'rubbish' })),

  warning('migrations', /^The database is empty/, async () => ({
    DATABASE_URL: urlOf(await newDatabase('')),
  })),
  warning(
    'migrations',
    /^Seals1764000000006 has not run/,
    sql(`DELETE FROM migrations WHERE name LIKE 'Seals%'`),
  ),
  warning(
    'migrations',
    /is of a newer version/,
    sql(`INSERT INTO migrations (timestamp, name) VALUES (1, 'Tomorrow1')`),
  ),
  problem('migrations', /^append_events is missing/, sql('DROP FUNCTION append_events')),
  problem(
    'migrations',
    /^The index erasures of events is not valid/,
    sql(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'erasures'::regclass`),
  ),

  warning('projections', /^There are no read models/, async () => ({
    DATABASE_URL: urlOf(await newDatabase('')),
  })),
  warning(
    'projections',
    /^posts \d+, which this version serves, is not built/,
    sql(`DELETE FROM checkpoints WHERE projection = 'posts'`),
  ),
  problem(
    'projections',
    /^lists \d+ stands still at position 7: oops\. Reads/,
    sql(
      `UPDATE checkpoints SET failed_position = 7, failure = 'oops', failed_at = now() WHERE projection = 'lists'`,
    ),
  ),
  problem('projections', /^The tables of contacts \d+ are gone/, async (run) => {
    const [row] = await run(`SELECT max(version) AS version FROM checkpoints WHERE projection = 'contacts'`);
    await run(`ALTER SCHEMA contacts_v${row.version} RENAME TO elsewhere`);
  }),
  warning(
    'projections',
    /events to read, and no server serves it/,
    sql(`SELECT setval('events_position', 20000)`),
  ),
  warning(
    'projections',
    /^posts \d+ has 19,\d+ events to read\./,
    sql(
      `SELECT setval('events_position', 20000)`,
      `INSERT INTO serving SELECT gen_random_uuid(), projection, version, clock_timestamp() FROM checkpoints`,
    ),
  ),
  warning(
    'projections',
    /still hold somebody who was erased 50 hours ago/,
    sql(event(`clock_timestamp() - interval '50 hours'`, 'ContactErased')),
  ),

  warning('seals', /^Nothing is sealed yet/, async () => ({ DATABASE_URL: urlOf(await newDatabase('')) })),
  warning(
    'seals',
    /^1 event not sealed yet.*: no server runs/,
    sql(event(`clock_timestamp() - interval '2 minutes'`)),
  ),
  problem(
    'seals',
    /^1 event not sealed yet.*although servers run/,
    sql(event(`clock_timestamp() - interval '2 minutes'`), instances(1)),
  ),
  problem(
    'seals',
    /is not what was sealed before/,
    sql(event('clock_timestamp()'), 'UPDATE sealing SET position = 1000'),
  ),
  problem(
    'seals',
    /does not lead to its last seal: .+\.$/,
    sql(
      'ALTER TABLE events DISABLE TRIGGER events_are_append_only',
      `UPDATE events SET data = '{"name": "Polluters"}'`,
    ),
  ),

  problem('storage', /^The log cannot be archived/, async (run) => {
    await run('SELECT pg_switch_wal()');
    await eventually(async () => {
      const [{ failed }] = (await run('SELECT failed_count > 0 AS failed FROM pg_stat_archiver')) as [any];
      expect(failed).toBe(true);
    });
  }),
  warning('storage', /^bloated holds 150,000 rows that are gone/, async (run) => {
    await run('CREATE TABLE bloated AS SELECT generate_series(1, 150000)');
    await run('DELETE FROM bloated');
    await run('SELECT pg_stat_force_next_flush()');
    await eventually(async () => {
      const [{ dead }] = (await run(
        `SELECT n_dead_tup::int AS dead FROM pg_stat_user_tables WHERE relname = 'bloated'`,
      )) as [any];
      expect(dead).toBe(150_000);
    });
  }),

  problem('redis', /^Redis cannot be used: .*ECONNREFUSED/, async () => ({
    REDIS_URL: `redis://127.0.0.1:${await findFreePort()}`,
  })),
  warning('redis', /^2 instances run without REDIS_URL/, sql(instances(2))),
  warning('address', /^PUBLIC_URL cannot be reached from here/, async () => ({
    PUBLIC_URL: `http://127.0.0.1:${await findFreePort()}`,
  })),
];

it.each(ILLNESSES.map((one) => [one.check, one.message.source, one] as const))(
  'tells in %s: %s',
  async (check, _, { level, message, harm }) => {
    const name = await newDatabase();
    const harmed = (await asSuperuser(name, (run) => harm(run, name))) as Environment | undefined;
    const environment = harmed && !Array.isArray(harmed) ? harmed : {};
    const found = await diagnose({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY, ...environment });
    expect(found.filter((one) => one.check === check)).toContainEqual({
      check,
      level,
      message: expect.stringMatching(message),
      advice: expect.stringMatching(/^.{10,}[.)\d]$/s),
    });
    // Nothing that is broken keeps another check from being made.
    expect(found.map(({ message: said }) => said).join()).not.toContain('could not be looked at');
  },
);

it('tells of Redis that it evicts, is nearly full, is a replica, or hangs', async () => {
  const one = await startRedis();
  const admin = new Redis(one.url);
  const REDIS_URL = one.url;
  const findings = async () => {
    const found = await diagnose({ DATABASE_URL: urlOf(model), ENCRYPTION_KEY, REDIS_URL });
    return found
      .filter(({ check }) => check === 'redis')
      .map(({ level, message }) => `${level}: ${message}`)
      .join(' ');
  };
  expect(await findings()).toMatch(/^ok: Redis \d+\.\d+\.\d+ answers/);
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect(await findings()).toMatch(/^warning: maxmemory-policy is allkeys-lru/);
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
  await admin.config('SET', 'maxmemory', '1mb');
  expect(await findings()).toMatch(/^warning: Redis uses .* of its 1\.0 MiB/);
  await admin.config('SET', 'maxmemory', '0');
  await admin.replicaof('127.0.0.1', redis.port);
  expect(await findings()).toMatch(/^problem: REDIS_URL leads to a replica/);
  admin.disconnect();
  one.pause();
  expect(await findings()).toMatch(/^problem: Redis cannot be used: it does not answer/);
  one.resume();
  await one.stop();
});

it('tells of sessions that wait for a lock', async () => {
  const name = await newDatabase();
  const [holder, waiter] = [1, 2].map(() => new Client({ connectionString: urlOf(name) }));
  await holder!.connect();
  await waiter!.connect();
  await holder!.query('BEGIN; LOCK TABLE sealing');
  const waiting = waiter!.query('SELECT * FROM sealing').catch(() => undefined);
  await eventually(async () => {
    const found = await diagnose({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY });
    expect(found).toContainEqual({
      check: 'activity',
      level: 'problem',
      message: expect.stringMatching(/^1 session has waited for a lock for more than 5 s, behind \d+\.$/),
      advice: expect.any(String),
    });
  });
  await holder!.end();
  await waiting;
  await waiter!.end();
});

it('tells of a clock that is another than the database’s', async () => {
  const faketime = findProgram('faketime');
  if (faketime === undefined) return;
  const environment = { DATABASE_URL: urlOf(model), ENCRYPTION_KEY };
  const { stdout } = await new Program(
    faketime,
    ['-f', '+1h', process.execPath, join(__dirname, '../dist/src/cli.js'), '--json', 'doctor'],
    environment,
  ).ended;
  expect(JSON.parse(stdout).findings).toContainEqual({
    check: 'clock',
    level: 'warning',
    message: expect.stringMatching(/^The database's clock is \d{4}\.\d s behind this machine's/),
    advice: expect.any(String),
  });
});

it('tells of PgBouncer, and of the one mode in which nothing works', async () => {
  const program = findProgram('pgbouncer');
  if (program === undefined) return;
  const found = async (poolMode: 'transaction' | 'session' | 'statement') => {
    const port = await findFreePort();
    const ini = join(directory, `${poolMode}.ini`);
    await writeFile(
      ini,
      `[databases]
* = host=127.0.0.1 port=${cluster.port} user=advocacy
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
${process.getuid?.() === 0 ? 'user = postgres' : ''}
`,
    );
    const pgbouncer = new Program(program, [ini], {});
    const url = new URL(urlOf(model));
    url.port = String(port);
    let findings: Examined[] = [];
    await eventually(async () => {
      findings = await diagnose({ DATABASE_URL: url.href, ENCRYPTION_KEY });
      expect(JSON.stringify(findings)).not.toContain('ECONNREFUSED');
    });
    await pgbouncer.end('SIGKILL');
    return findings
      .filter(({ check }) => check === 'database')
      .map(({ level, message }) => `${level}: ${message}`);
  };
  const between = expect.stringMatching(/^ok: A pooler .* stands between/);
  expect(await found('transaction')).toEqual([expect.stringMatching(/^ok: PostgreSQL/), between]);
  expect(await found('session')).toEqual([expect.stringMatching(/^ok: PostgreSQL/), between]);
  expect(await found('statement')).toEqual([expect.stringMatching(/^problem: PgBouncer .* statement mode/)]);
});

it('tells of a disk that is nearly full', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'full-'));
  const mounted = await new Program('mount', ['-t', 'tmpfs', '-o', 'size=100m', 'tmpfs', directory], {})
    .ended;
  try {
    if (mounted.status !== 0) {
      process.stderr.write(`No file system can be mounted here: ${mounted.stderr}`);
      return;
    }
    const found = await diagnose({ DATA_DIR: directory });
    expect(found).toContainEqual({
      check: 'disk',
      level: 'problem',
      message: expect.stringMatching(/^100\.0 MiB are free where DATA_DIR lies/),
      advice: expect.any(String),
    });
  } finally {
    if (mounted.status === 0) await new Program('umount', [directory], {}).ended;
    await rm(directory, { recursive: true });
  }
});

describe('a server that all is well with', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await Deployment.create();
    await deployment.organization();
  });
  afterAll(() => deployment.stop());

  it('has no problem: status 0, a line for each check, and nothing is changed', async () => {
    const port = String(await findFreePort());
    const PUBLIC_URL = `http://127.0.0.1:${port}`;
    const environment = { ...deployment.environment, REDIS_URL: redis.url, PUBLIC_URL };
    await deployment.startServer({ ...environment, PORT: port });
    await deployment.database.source.query('SELECT pg_stat_force_next_flush()').catch(() => undefined);
    const { status, stdout, stderr } = await cli(['doctor'], environment);
    expect([status, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/^0 problems, \d+ warnings?$/);
    const checks = lines.slice(0, -1).map((line) => /^(\S+) +([a-z]+( key)?)  /.exec(line)!.slice(1, 3));
    expect([...new Set(checks.map(([, name]) => name))]).toEqual([
      ...['configuration', 'database', 'role', 'settings', 'connections', 'extensions', 'clock'],
      ...['encryption key', 'migrations', 'projections', 'seals', 'activity', 'storage', 'redis', 'address'],
    ]);
    // How the tests' own PostgreSQL is set is not ours to say.
    const ofTheServer = ['role', 'settings', 'storage'];
    expect(checks.filter(([level, name]) => level !== 'ok' && !ofTheServer.includes(name!))).toEqual([]);
  });

  it('as JSON: one line', async () => {
    const { stdout } = await cli(['doctor', '--json'], deployment.environment);
    expect(stdout).toMatch(/^\{[^\n]*\}\n$/);
    expect(JSON.parse(stdout)).toEqual({ ok: true, findings: expect.any(Array) });
  });
});

it('a database that nobody can reach: status 1, and no secret', async () => {
  const environment = {
    DATABASE_URL: 'postgres://advocacy:hunter2@127.0.0.1:1/advocacy',
    ENCRYPTION_KEY: 'hunter3',
    SIGNING_KEY: OTHER_KEY,
    REDIS_URL: 'redis://:hunter4@127.0.0.1:1',
    HEALTH_TOKEN: 'hunter5',
  };
  const { status, stdout, stderr } = await cli(['doctor'], environment);
  expect([status, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^problem +database /m);
  expect(stdout).toMatch(/^problem +redis /m);
  expect(stdout).not.toMatch(/hunter/);
  expect(stdout).not.toContain(OTHER_KEY);
});

it('an empty migration is not made, nor a read model, nor a key', async () => {
  const name = await newDatabase('');
  await diagnose({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY });
  expect(
    await asSuperuser(name, (run) => run(`SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace`)),
  ).toEqual([]);
  const directory = await mkdtemp(join(tmpdir(), 'none-'));
  await diagnose({ DATA_DIR: join(directory, 'data') });
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
});

it('tells of a cluster that keeps no log to restore from', async () => {
  const minimal = await startPostgres({ settings: { wal_level: 'minimal', max_wal_senders: 0 } });
  const found = await diagnose({ DATABASE_URL: minimal.url, ENCRYPTION_KEY });
  await minimal.remove();
  expect(found).toContainEqual(
    expect.objectContaining({ check: 'settings', message: expect.stringMatching(/^wal_level is minimal/) }),
  );
});

// The last: the cluster is a replica of nobody afterwards.
it('tells of a database that is a replica', async () => {
  await cluster.stop('fast');
  await writeFile(join(directory, 'data', 'standby.signal'), '');
  await cluster.start();
  const found = await diagnose({ DATABASE_URL: urlOf(model), ENCRYPTION_KEY });
  expect(found).toContainEqual(
    expect.objectContaining({
      check: 'database',
      level: 'problem',
      message: 'DATABASE_URL leads to a replica, which takes no writes.',
    }),
  );
});
