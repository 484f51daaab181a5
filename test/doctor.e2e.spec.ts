import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { missingFromSchema } from '#libs/database';
import { Keyring } from '#libs/event-store';
import { JsonLogger } from '#libs/operations';
import {
  createTestDatabase,
  findFreePort,
  findProgram,
  type PostgresServer,
  RedisNode,
  type RedisServer,
  SmtpServer,
  startPgBouncer,
  startPostgres,
  startRedis,
  startS3Server,
} from '#libs/testing';
import { schema } from '#migrations';
import { inspectConfig, readConfig } from '../src/config/index.js';
import { examine, type Examined } from '../src/doctor/index.js';
import { openRuntime } from '../src/server/index.js';
import { programVersion } from '../src/environment/index.js';
import { command } from './commands.js';
import { CLI, Deployment, type Environment, eventually, Program } from './processes.js';
import { isLong, longIt, someOf } from './length.js';

const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');
const ORGANIZATION = '0197a3c0-0000-7000-8000-000000000001';

/** A cluster with harmful settings, for checks of settings that only a superuser can change. */
let cluster: PostgresServer;
let directory: string;
/** The name of a healthy, used database. The tests break copies of it. */
let model: string;
let redis: RedisServer;
/** A database in which one session waits for another's lock from the start. */
let locked: { name: string; end: () => Promise<void> };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'doctor-'));
  cluster = await startPostgres({
    directory,
    // The last test changes these two, which would fail if they were set on the command line.
    initdb: ['--no-data-checksums', '-c', 'archive_mode=on', '-c', 'wal_level=replica'],
    settings: {
      fsync: 'off',
      full_page_writes: 'off',
      autovacuum: 'off',
      log_statement: 'all',
      log_parameter_max_length_on_error: -1,
      archive_command: 'false',
      max_connections: 60,
      max_wal_senders: 0,
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
  locked = await lock(await newDatabase());
});
afterAll(async () => {
  await cluster.remove();
  await rm(directory, { recursive: true });
  await redis.stop();
});

type Run = (text: string, values?: unknown[]) => Promise<any[]>;

/** Runs `work` as the superuser in a database of the cluster. */
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
async function newDatabase(options = `TEMPLATE ${model} STRATEGY file_copy`): Promise<string> {
  const name = `sick_${randomBytes(6).toString('hex')}`;
  await asSuperuser('postgres', (run) => run(`CREATE DATABASE ${name} OWNER advocacy ${options}`));
  return name;
}

async function lock(name: string): Promise<typeof locked> {
  const [holder, waiter] = [1, 2].map(() => new Client({ connectionString: urlOf(name) })) as [
    Client,
    Client,
  ];
  for (const client of [holder, waiter]) {
    // The cluster disconnects them if the test that does so is not run.
    client.on('error', () => undefined);
    await client.connect();
  }
  await holder.query('BEGIN; LOCK TABLE sealing');
  const waiting = waiter.query('SELECT * FROM sealing').catch(() => undefined);
  return {
    name,
    async end() {
      await holder.end();
      await waiting;
      await waiter.end();
    },
  };
}

async function diagnose(environment: Environment): Promise<Examined[]> {
  const found: Examined[] = [];
  for await (const finding of examine(inspectConfig(environment))) found.push(finding);
  return found;
}

type Finding = { check: string; level: 'warning' | 'problem'; message: RegExp; advice: RegExp };
const findingOf =
  (level: Finding['level']) =>
  (check: string, message: RegExp, advice = /^.{10,}[.)\d]$/s): Finding => ({
    check,
    level,
    message,
    advice,
  });
const problem = findingOf('problem');
const warning = findingOf('warning');

/** Faults of one deployment that do not hide each other, and the findings that report them. */
type Patient = {
  name: string;
  /** Breaks a copy of the model. Returns variables to set, including DATABASE_URL if it changes. */
  harm: (run: Run, name: string) => Promise<Environment | void>;
  findings: Finding[];
};

const patient = (name: string, harm: Patient['harm'], ...findings: Finding[]): Patient => ({
  name,
  harm,
  findings,
});
const sql =
  (...statements: string[]): Patient['harm'] =>
  async (run) => {
    for (const statement of statements) await run(statement);
  };
const event = (at: string, type = 'Anything') =>
  `INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema, data, metadata,
     recorded_at, digest)
   SELECT nextval('events_position'), '${ORGANIZATION}', 'any', gen_random_uuid(), 1, gen_random_uuid(), '${type}', 1, '{}',
     '{"actor": {"type": "system", "id": "test"}, "requestId": "test"}', ${at}, '\\x00'`;
const instances = (count: number) =>
  `INSERT INTO serving SELECT gen_random_uuid(), 'contacts', 999, clock_timestamp() FROM generate_series(1, ${count})`;
const unusedUrl = async (scheme: string) => `${scheme}://127.0.0.1:${await findFreePort()}`;

/** Replaces the key with `OTHER_KEY`, which has not wrapped anything yet. */
async function replaceKey(run: Run): Promise<Environment> {
  const [other, key] = [OTHER_KEY, ENCRYPTION_KEY].map((text) => Buffer.from(text, 'base64'));
  const keyring = new Keyring(other!, key);
  const [check] = await run('SELECT * FROM key_check');
  expect(keyring.open(check)).toBeUndefined();
  const { check_value, secrets, replaces } = keyring.nextCheck;
  await run('UPDATE key_check SET check_value = $1, secrets = $2, replaces = $3', [
    check_value,
    secrets,
    replaces,
  ]);
  return {};
}

const PATIENTS: Patient[] = [
  patient(
    'invalid variables',
    () =>
      Promise.resolve({
        PORT: 'abc',
        ENCRYPTION_KEY: 'rubbish',
        REDIS_URL: 'rubbish',
        PUBLIC_URL: 'rubbish',
      }),
    problem('configuration', /^PORT must be /),
    problem('configuration', /^ENCRYPTION_KEY must be /),
    problem('configuration', /^REDIS_URL must be /),
    problem('configuration', /^PUBLIC_URL must be /),
    problem('encryption key', /^No key is configured/),
  ),
  patient(
    'unreachable addresses',
    async () => ({
      DATABASE_URL: 'rubbish',
      REDIS_URL: await unusedUrl('redis'),
      PUBLIC_URL: await unusedUrl('http'),
    }),
    problem('configuration', /^DATABASE_URL must be /),
    problem('redis', /^Redis cannot be used: nothing accepts connections .*ECONNREFUSED/),
    warning('address', /^PUBLIC_URL cannot be reached from here/),
  ),
  patient(
    'insecure variables and a superuser',
    (_, name) =>
      Promise.resolve({
        DATABASE_URL: urlOf(name, cluster.url),
        DATABASE_POOL_SIZE: '60',
        DATABASE_REPLICA_URL: urlOf(name),
        PUBLIC_URL: 'http://api.invalid',
        TRUST_PROXY: 'true',
        WEBHOOK_ALLOW_PRIVATE: 'true',
        SIGNING_KEY: ENCRYPTION_KEY,
        SIGNING_KEY_PREVIOUS: `derived, ${ENCRYPTION_KEY}`,
        ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY,
      }),
    warning('configuration', /^PUBLIC_URL is not https/),
    warning('configuration', /^TRUST_PROXY=true/),
    warning('configuration', /^WEBHOOK_ALLOW_PRIVATE is set/),
    warning('configuration', /^SIGNING_KEY is the same/),
    warning('configuration', /^ENCRYPTION_KEY_PREVIOUS is the same as ENCRYPTION_KEY/),
    warning('configuration', /^SIGNING_KEY_PREVIOUS contains the current signing key/),
    warning('encryption key', /^ENCRYPTION_KEY_PREVIOUS is no longer needed/),
    warning('role', /is a superuser/),
    problem('connections', /PostgreSQL will reject some/),
    warning('replica', /a server that is not a replica/),
  ),
  patient(
    'a new key before it is used',
    () => Promise.resolve({ ENCRYPTION_KEY: OTHER_KEY, ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY }),
    warning('encryption key', /^ENCRYPTION_KEY is not in use yet/, /keys rewrap/),
  ),
  patient(
    'a key rotation in progress',
    async (run) => {
      await replaceKey(run);
      return { ENCRYPTION_KEY: OTHER_KEY, ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY };
    },
    warning('encryption key', /^Some keys are not wrapped with ENCRYPTION_KEY yet/, /keys rewrap/),
  ),
  patient(
    'a key rotation without the previous key',
    async (run) => {
      await replaceKey(run);
      return { ENCRYPTION_KEY: OTHER_KEY };
    },
    problem('encryption key', /ENCRYPTION_KEY_PREVIOUS is not that key\. No server will start/),
  ),
  patient(
    'a key that has been replaced',
    replaceKey,
    problem(
      'encryption key',
      /^ENCRYPTION_KEY is not the key that this database uses now: the key was replaced/,
    ),
  ),
  patient(
    'a missing DATABASE_URL',
    () =>
      Promise.resolve({
        DATABASE_URL: '',
        DATA_DIR: join(directory, 'nothing'),
        ENCRYPTION_KEY,
        NODE_ENV: 'production',
        REDIS_URL: redis.url,
        TRUST_PROXY: '1',
      }),
    warning(
      'configuration',
      /^DATABASE_URL is not set, but REDIS_URL, TRUST_PROXY, ENCRYPTION_KEY, NODE_ENV=production are\. .*embedded.* no other instance sees/,
    ),
  ),
  patient(
    'harmful settings of the cluster, database and role',
    async (run, name) => {
      const settings = {
        synchronous_commit: 'off',
        default_transaction_isolation: 'serializable',
        DateStyle: 'German',
        statement_timeout: '60000',
        lock_timeout: '60000',
        idle_in_transaction_session_timeout: '60000',
        idle_session_timeout: '60000',
      };
      for (const [setting, value] of Object.entries(settings))
        await run(`ALTER DATABASE ${name} SET ${setting} = ${value}`);
      const role = `role_of_${name}`;
      await run(`CREATE ROLE ${role} LOGIN IN ROLE advocacy`);
      await run(`ALTER ROLE ${role} IN DATABASE ${name} SET lock_timeout = 60000`);
      await run(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
      const url = new URL(urlOf(name));
      url.username = role;
      return { DATABASE_URL: url.href };
    },
    warning('configuration', /^PUBLIC_URL is not set/),
    problem('settings', /^fsync is off/, /command line/),
    problem('settings', /^full_page_writes is off/),
    problem('settings', /^synchronous_commit is off/, /ALTER DATABASE sick_\w+ RESET synchronous_commit;/),
    problem(
      'settings',
      /^Transactions are read-only by default .*default_transaction_read_only.*: nothing can be written/,
      /^As a superuser: SET \S+ = off; ALTER ROLE role_of_sick_\w+ RESET default_transaction_read_only; /,
    ),
    problem('settings', /^Transactions are serializable/),
    problem('settings', /^DateStyle is German/),
    warning('settings', /^autovacuum is off/),
    warning('settings', /no data checksums/),
    warning('settings', /^log_statement is all/),
    warning(
      'settings',
      /^log_error_verbosity is default/,
      /^As a superuser: ALTER SYSTEM SET log_error_verbosity = terse; /,
    ),
    warning('settings', /logged with their values/),
    warning('settings', /^statement_timeout is 60000 ms/),
    warning('settings', /^lock_timeout is 60000 ms/, /ALTER ROLE \w+ IN DATABASE \w+ RESET lock_timeout;/),
    warning('settings', /^idle_in_transaction_session_timeout is 60000 ms/),
    warning('settings', /^idle_session_timeout is 60000 ms/),
  ),
  patient(
    'a role with missing and excess privileges',
    async (run, name) => {
      await run(`ALTER DATABASE ${name} OWNER TO postgres`);
      await run('REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC');
      await run('GRANT UPDATE, DELETE ON events TO advocacy');
      await run('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
      await run('ALTER TABLE serving OWNER TO postgres');
      await run('GRANT SELECT ON serving TO advocacy');
    },
    problem('role', /cannot create schemas/),
    problem('role', /cannot call pg_terminate_backend/),
    problem('role', /has UPDATE, DELETE on the table events/),
    problem('role', /trigger .* not always enabled/),
    problem('role', /does not own serving/),
  ),
  patient(
    'an empty database with another encoding, collation and owner',
    async () => {
      const locale = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C' LOCALE 'C'";
      const name = await newDatabase(`TEMPLATE template0 ENCODING 'SQL_ASCII' ${locale}`);
      await asSuperuser(name, (run) =>
        run(`UPDATE pg_database SET datcollversion = '0' WHERE datname = $1`, [name]),
      );
      await asSuperuser(name, (run) => run(`ALTER DATABASE ${name} OWNER TO postgres`));
      return { DATABASE_URL: urlOf(name) };
    },
    problem('database', /encoding is SQL_ASCII/),
    warning('database', /^The system's collation version/),
    warning('extensions', /^The migrations cannot create pg_trgm and btree_gin/),
    warning('migrations', /^The database is empty/),
    warning('projections', /^No projections exist/),
    warning('seals', /^Nothing is sealed yet/),
  ),
  patient(
    'a schema changed by hand, and the key of another database',
    async (run) => {
      await run('DROP EXTENSION pg_trgm CASCADE');
      await run('DROP EXTENSION btree_gin CASCADE');
      await run('DROP TRIGGER events_are_append_only ON events');
      await run('DROP FUNCTION append_events');
      await run('ALTER TABLE idempotency_keys RENAME fingerprint TO print');
      await run('DROP INDEX events_by_actor, events_by_time');
      await run(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'erasures'::regclass`);
      return { ENCRYPTION_KEY: OTHER_KEY };
    },
    warning('extensions', /^pg_trgm and btree_gin are not installed, /),
    problem('role', /trigger .* is missing/),
    problem(
      'migrations',
      /^All migrations have run, but .* Missing: column idempotency_keys\.fingerprint bytea, function append_events with .*, trigger events_are_append_only of events\. No server/,
    ),
    warning(
      'migrations',
      /^2 indexes of the migrations are missing, /,
      /: CREATE INDEX CONCURRENTLY events_by_actor ON events USING .*; CREATE INDEX CONCURRENTLY events_by_time ON .*;$/,
    ),
    problem('migrations', /^The index erasures of events is not valid/),
    problem('encryption key', /^ENCRYPTION_KEY is not the key/),
  ),
  patient(
    'a half-migrated database, and a history that differs from its seals',
    sql(
      `DELETE FROM migrations WHERE name LIKE 'Seals%'`,
      `INSERT INTO migrations (timestamp, name) VALUES (1, 'Tomorrow1')`,
      event('clock_timestamp()'),
      'UPDATE sealing SET position = 1000',
    ),
    warning('migrations', /^Pending migrations: Seals1764000000006\./),
    warning('migrations', /^Migrations of a newer version: /),
    problem('seals', /^Sealing has skipped events/),
  ),
  patient(
    'a quarantined history',
    sql(`UPDATE signed_notes SET refused = 'for a reason', refused_at = clock_timestamp()`),
    problem('seals', /differs from what was sealed, and is quarantined: for a reason/),
  ),
  patient(
    'a different signing key',
    () => Promise.resolve({ SIGNING_KEY: OTHER_KEY }),
    problem('seals', /was signed with another key/),
  ),
  patient(
    'a rewritten history, and four instances',
    sql(
      'ALTER TABLE events DISABLE TRIGGER events_are_append_only',
      `UPDATE events SET data = '{"name": "Polluters"}'`,
      instances(4),
    ),
    problem('seals', /does not match its last seal: .+\.$/),
    warning('connections', /A rolling deployment can run out/),
  ),
  patient(
    'projections that are missing, stopped or unused',
    async (run) => {
      await run(`SELECT setval('events_position', 20000)`);
      await run(`DELETE FROM checkpoints WHERE projection = 'posts'`);
      await run(
        `UPDATE checkpoints SET failed_position = 7, failure = 'oops', failed_at = now() WHERE projection = 'lists'`,
      );
      const [row] = await run(
        `SELECT max(version) AS version FROM checkpoints WHERE projection = 'contacts'`,
      );
      await run(`ALTER SCHEMA contacts_v${row.version} RENAME TO elsewhere`);
    },
    warning('projections', /^posts \d+, which this version uses, has not been built/),
    problem('projections', /^lists \d+ has stopped at position 7: oops\. Reads/),
    problem('projections', /^The tables of contacts \d+ do not exist/),
    warning('projections', /events behind, and no server uses it/),
  ),
  patient(
    'one instance of an incompatible version and one of a compatible version',
    sql(
      `INSERT INTO serving (instance, projection, version, seen_at, release, host)
       SELECT gen_random_uuid(), 'contacts', 1, clock_timestamp(), release, 'api-' || release
       FROM unnest(ARRAY['0.2.1', '${programVersion()}']) release`,
    ),
    problem('releases', /^1 instance of 0\.2\.1 \(api-0\.2\.1\) cannot run together with \d/, /upgrades\.md/),
    warning('redis', /^2 instances run without REDIS_URL/),
  ),
  patient(
    'projections that lag behind, and five instances without Redis',
    sql(
      event(`clock_timestamp() - interval '2 minutes'`),
      `SELECT setval('events_position', 20000)`,
      `INSERT INTO serving SELECT gen_random_uuid(), projection, version, clock_timestamp() FROM checkpoints
       WHERE projection = 'posts'`,
      instances(4),
    ),
    warning('projections', /^posts \d+ is 19,\d+ events behind\./),
    problem('seals', /^1 event not sealed yet.*although servers are running/),
    problem('connections', /of 57 connections, 5 × \(10 \+ 3\)\. PostgreSQL will reject/),
    warning('redis', /^5 instances run without REDIS_URL/),
  ),
  patient(
    'a clock that was set back, and an overdue erasure',
    async (run) => {
      await run(event(`clock_timestamp() - interval '50 hours'`, 'ContactErased'));
      await run(event(`clock_timestamp() + interval '1 hour'`));
      return { DATABASE_REPLICA_URL: `${await unusedUrl('postgres')}/advocacy` };
    },
    problem('clock', /was set back: the last event is \d{4}\.\d s ahead of it/),
    warning('projections', /still contain a person who was erased 50 hours ago/),
    warning('seals', /^2 events not sealed yet.*No server is running/),
    warning('replica', /^The replica cannot be reached: /),
  ),
  patient(
    'a log that cannot be archived, and a table full of dead rows',
    async (run) => {
      await run('SELECT pg_switch_wal()');
      await run('CREATE TABLE bloated AS SELECT generate_series(1, 150000)');
      await run('DELETE FROM bloated');
      await run('SELECT pg_stat_force_next_flush()');
      await eventually(async () => {
        const [found] = await run(
          `SELECT failed_count > 0 AS failed, n_dead_tup::int AS dead FROM pg_stat_archiver, pg_stat_user_tables
           WHERE relname = 'bloated'`,
        );
        expect(found).toEqual({ failed: true, dead: 150_000 });
      });
    },
    problem('storage', /^The write-ahead log cannot be archived/),
    warning('storage', /^bloated contains 150,000 dead rows/),
  ),
];

/** Only in `npm run test:long`, because others have a finding of the same check. */
const FURTHER = ['a new key before it is used', 'a key rotation in progress', 'a key that has been replaced'];
const examined = PATIENTS.filter(({ name }) => isLong || !FURTHER.includes(name));

it.each(examined.map((one) => [one.name, one] as const))('reports %s', async (_, { harm, findings }) => {
  const name = await newDatabase();
  const environment = await asSuperuser(name, (run) => harm(run, name));
  expectFindings(await diagnose({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY, ...environment }), findings);
});

const UNREACHABLE: [what: string, change: (url: URL) => void, message: RegExp][] = [
  ['nothing listens', (url: URL) => void (url.port = '1'), /ECONNREFUSED/],
  ['the database does not exist', (url: URL) => void (url.pathname = '/nothing'), /"nothing" does not exist/],
  ['the role does not exist', (url: URL) => void (url.username = 'nobody'), /"nobody" does not exist/],
];

it.each(someOf(UNREACHABLE))('reports that %s', async (_, change, message) => {
  const url = new URL(urlOf(model));
  change(url);
  expectFindings(await diagnose({ DATABASE_URL: url.href, ENCRYPTION_KEY }), [problem('database', message)]);
});

it('reports that a database accepts no more connections', async () => {
  const name = await newDatabase('');
  await asSuperuser('postgres', (run) => run(`ALTER DATABASE ${name} CONNECTION LIMIT 0`));
  const found = await diagnose({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY });
  expectFindings(found, [problem('database', /too many connections/)]);
});

function expectFinding(found: readonly Examined[], { check, level, message, advice }: Finding): void {
  expect(found.filter((one) => one.check === check)).toContainEqual({
    check,
    level,
    message: expect.stringMatching(message),
    advice: expect.stringMatching(advice),
  });
}

function expectFindings(found: readonly Examined[], findings: readonly Finding[]): void {
  for (const one of findings) expectFinding(found, one);
  // A fault must not prevent other checks.
  expect(found.map(({ message }) => message).join()).not.toContain('This check failed');
  // What another program said can end with a full stop, too.
  expect(found.filter(({ message }) => /\.\.(\s|$)/.test(message))).toEqual([]);
}

longIt('reports a Redis that evicts, is nearly full, is a replica, or hangs', async () => {
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
  expect(await findings()).toMatch(/^ok: Redis \d+\.\d+\.\d+ responds/);
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect(await findings()).toMatch(/^warning: maxmemory-policy is allkeys-lru/);
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
  await admin.config('SET', 'maxmemory', '1mb');
  expect(await findings()).toMatch(/^warning: Redis uses .* of its 1\.0 MiB/);
  await admin.config('SET', 'maxmemory', '0');
  await admin.replicaof('127.0.0.1', redis.port);
  expect(await findings()).toMatch(/^problem: REDIS_URL leads to a replica/);
  await admin.config('SET', 'requirepass', 'secret');
  expect(await findings()).toMatch(/^problem: Redis cannot be used: it requires a password \(NOAUTH.*\w\)\./);
  admin.disconnect();
  one.freeze();
  expect(await findings()).toMatch(/^problem: Redis cannot be used: it does not respond/);
  one.resume();
  await one.stop();
});

it('reports a Redis that is unreachable or not of the kind that its URL states, without internal terms', async () => {
  const node = await (await RedisNode.create(['--cluster-enabled', 'yes'])).start();
  const sentinel = await (await RedisNode.create(['--sentinel'])).start();
  const nowhere = `127.0.0.1:${await findFreePort()}`;
  const single = redis.url.replace(/^.*\//, '');
  const tried: [REDIS_URL: string, message: RegExp, advice: RegExp][] = [
    [`redis://${node.address}`, /^REDIS_URL leads to a node of a Redis Cluster/, /^Add \?cluster=true/],
    [`redis://${single}?cluster=true`, /^REDIS_URL asks for a Redis Cluster/, /without \?cluster=true/],
    [`redis://${node.address}?cluster=true`, /cluster.*(slots|master)/, /CLUSTER INFO/],
    [
      `redis://${nowhere},${nowhere}`,
      /: nothing accepts connections/,
      /^Start it, or correct the hosts and ports/,
    ],
    [
      `redis+sentinel://${nowhere}/limits`,
      /: nothing accepts connections/,
      /^Start it, or correct the hosts and ports/,
    ],
    [`redis+sentinel://${sentinel.address}/limits`, /know no master with this name/, /SENTINEL MASTERS/],
    [`redis+sentinel://${single}/limits`, /are not sentinels/, /^Set REDIS_URL to the sentinels/],
    [`redis://${sentinel.address}`, /leads to a sentinel/, /redis\+sentinel:/],
  ];
  for (const [REDIS_URL, message, advice] of tried) {
    const found = await diagnose({ DATA_DIR: join(directory, 'nothing'), REDIS_URL });
    expectFindings(found, [problem('redis', message, advice)]);
    const [{ message: whole } = { message: '' }] = found.filter(({ check }) => check === 'redis');
    expect(whole).not.toMatch(
      /Failed to refresh|All sentinels|enableOfflineQueue|maxRetriesPerRequest|is closed|\.\)/,
    );
  }
  await Promise.all([node.remove(), sentinel.remove()]);
});

longIt('reports an unreachable bucket of images', async () => {
  const store = await startS3Server('images');
  const images = async (environment: Environment) => {
    // The SDK reads the credentials from the process's own variables.
    const { stdout } = await command(['--json', 'doctor'], {
      DATABASE_URL: urlOf(model),
      ENCRYPTION_KEY,
      ...environment,
    });
    const { findings } = JSON.parse(stdout) as { findings: Examined[] };
    return findings
      .filter(({ check }) => check === 'images')
      .map(({ level, message }) => `${level} ${message}`);
  };
  const inBucket = { ...store.environment, STORAGE_URL: `s3://${store.bucket}` };
  expect(await images({})).toEqual([expect.stringMatching(/^ok .* all instances must share/)]);
  expect(await images(inBucket)).toEqual(['ok The image bucket responds.']);
  expect(await images({ ...inBucket, STORAGE_URL: 's3://' })).toEqual([]);
  await store.stop();
  expect(await images(inBucket)).toEqual([
    expect.stringMatching(/^problem The image storage is unavailable: ECONNREFUSED\. Uploads fail/),
  ]);
});

it('reports a warning if DATA_DIR cannot be written', async () => {
  const file = join(directory, 'file');
  await writeFile(file, '');
  expectFindings(
    await diagnose({ DATABASE_URL: urlOf(model), ENCRYPTION_KEY, DATA_DIR: join(file, 'data') }),
    [
      warning('mail', /cannot write to DATA_DIR\/mail \(ENOTDIR\)/),
      warning('images', /cannot write to DATA_DIR\/images \(ENOTDIR\)/),
    ],
  );
});

it('reports email without a server or sender, and email that cannot be sent', async () => {
  const server = await SmtpServer.start({ tls: 'starttls', login: { user: 'us', password: 'right' } });
  const inDeployment = { DATABASE_URL: urlOf(model), ENCRYPTION_KEY };
  const MAIL_FROM = 'Clean Rivers <office@rivers.example>';
  expectFindings(await diagnose(inDeployment), [warning('mail', /^MAIL_URL is not set\. .* sent to no one/)]);
  expectFindings(await diagnose({ ...inDeployment, MAIL_URL: server.url }), [
    warning('mail', /^MAIL_FROM is not set/),
  ]);
  for (const [MAIL_URL, message] of someOf([
    [server.url.replace('right', 'wrong'), /^Emails cannot be sent: 535 .*/],
    [server.url.replace(/\?.*/, ''), /^Emails cannot be sent: .*certificate/],
    [await unusedUrl('smtp'), /^Emails cannot be sent: .*ECONNREFUSED/],
  ] as const)) {
    const found = await diagnose({ ...inDeployment, MAIL_URL, MAIL_FROM });
    expectFindings(found, [problem('mail', message)]);
    expect(JSON.stringify(found)).not.toMatch(/wrong|right/);
  }
  await server.stop();
  const wrong = await diagnose({ ...inDeployment, MAIL_URL: 'rubbish', MAIL_FROM: 'rubbish' });
  expectFindings(wrong, [
    problem('configuration', /^MAIL_URL must be /),
    problem('configuration', /^MAIL_FROM must be /),
  ]);
});

longIt('reports sessions that wait for a lock', async () => {
  const environment = { DATABASE_URL: urlOf(locked.name), ENCRYPTION_KEY };
  const waits = problem('activity', /^1 session has waited for a lock for more than 5 s, blocked by \d+\.$/);
  await eventually(async () => expectFinding(await diagnose(environment), waits));
  await locked.end();
});

longIt('reports a clock that differs from the database’s', async () => {
  const faketime = findProgram('faketime');
  if (faketime === undefined) return;
  const environment = { DATABASE_URL: urlOf(model), ENCRYPTION_KEY };
  const { stdout } = await new Program(
    faketime,
    ['-f', '+1h', process.execPath, join(__dirname, '../dist/bundle/cli.js'), '--json', 'doctor'],
    environment,
  ).ended;
  expect(JSON.parse(stdout).findings).toContainEqual({
    check: 'clock',
    level: 'warning',
    message: expect.stringMatching(/^The database's clock is \d{4}\.\d s behind this machine's/),
    advice: expect.any(String),
  });
});

it('reports PgBouncer, and its only unusable mode', async () => {
  const program = findProgram('pgbouncer');
  if (program === undefined) return;
  const found = async (poolMode: 'transaction' | 'session' | 'statement') => {
    const pgbouncer = await startPgBouncer(program, urlOf(model), 20, { pool_mode: poolMode });
    const findings = await diagnose({ DATABASE_URL: pgbouncer.url, ENCRYPTION_KEY });
    await pgbouncer.remove();
    return findings
      .filter(({ check }) => check === 'database')
      .map(({ level, message }) => `${level}: ${message}`);
  };
  const between = expect.stringMatching(/^ok: A pooler .* is in between/);
  expect(await found('transaction')).toEqual([expect.stringMatching(/^ok: PostgreSQL/), between]);
  if (isLong) expect(await found('session')).toEqual([expect.stringMatching(/^ok: PostgreSQL/), between]);
  expect(await found('statement')).toEqual([expect.stringMatching(/^problem: PgBouncer .* statement mode/)]);
});

it('reports a proxy that has no instance', async () => {
  const proxy = createServer((_, response) => response.writeHead(503).end('<html>No server</html>'));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const found = await diagnose({ PUBLIC_URL: `http://127.0.0.1:${port}` });
  proxy.close();
  expect(found.find(({ check }) => check === 'address')).toMatchObject({
    level: 'warning',
    message: expect.stringMatching(/^PUBLIC_URL returns status 503: the proxy there has no instance/),
  });
});

it('reports a disk that is nearly full', async () => {
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
      message: expect.stringMatching(/^100\.0 MiB are free on the disk of DATA_DIR/),
      advice: expect.any(String),
    });
  } finally {
    if (mounted.status === 0) await new Program('umount', [directory], {}).ended;
    await rm(directory, { recursive: true });
  }
});

it('a healthy server: reports no problem, exits with 0, and runs each check once', async () => {
  const durable = await startPostgres({ settings: { fsync: 'on' } });
  const deployment = await Deployment.create(durable.applicationUrl);
  const mail = await SmtpServer.start({ tls: 'starttls', login: { user: 'us', password: 'p@ss' } });
  const port = String(await findFreePort());
  const environment = {
    ...deployment.environment,
    REDIS_URL: redis.url,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    MAIL_URL: mail.url,
    MAIL_FROM: 'office@rivers.example',
  };
  await deployment.organization();
  await deployment.startServer({ ...environment, PORT: port });
  const { status, stdout, stderr } = await command(['doctor', '--json'], environment);
  await deployment.stop();
  await durable.remove();
  await mail.stop();
  expect(mail.accepted).toEqual([]);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\{[^\n]*\}\n$/);
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Examined[] };
  expect(ok).toBe(true);
  expect([...new Set(findings.map(({ check }) => check))]).toEqual([
    ...['configuration', 'database', 'role', 'settings', 'connections', 'extensions', 'clock'],
    ...[
      'encryption key',
      'migrations',
      'releases',
      'projections',
      'seals',
      'self-check',
      'activity',
      'storage',
      'disk',
      'redis',
      'mail',
      'images',
      'address',
    ],
  ]);
  const [release] = findings.filter(({ check }) => check === 'releases');
  expect(release!.message).toBe(
    `Running: 1 instance of ${programVersion()} (${hostname()}). Compatible with ${programVersion()}.`,
  );
  // The settings of the tests' own PostgreSQL and the disk of this machine are not checked.
  const ofTheServer = ['role', 'settings', 'storage', 'disk'];
  expect(findings.filter(({ level, check }) => level !== 'ok' && !ofTheServer.includes(check))).toEqual([]);
});

it('an unreachable database: exits with 1 and prints no secret', async () => {
  const environment = {
    DATABASE_URL: 'postgres://advocacy:hunter2@127.0.0.1:1/advocacy',
    ENCRYPTION_KEY: 'hunter3',
    SIGNING_KEY: OTHER_KEY,
    REDIS_URL: 'redis://:hunter4@127.0.0.1:1',
    HEALTH_TOKEN: 'hunter5',
    MAIL_URL: 'smtps://us:hunter6@127.0.0.1:1',
  };
  const { status, stdout, stderr } = await command(['doctor'], environment);
  expect([status, stderr]).toEqual([1, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.at(-1)).toMatch(/^\d problems, \d warnings?$/);
  for (const line of lines.slice(0, -1)) expect(line).toMatch(/^(ok|warning|problem) +[a-z]+( key)? {2}/);
  expect(stdout).toMatch(/^problem +database /m);
  expect(stdout).toMatch(/^problem +redis /m);
  expect(stdout).toMatch(/^problem +mail +Emails cannot be sent: .*ECONNREFUSED/m);
  expect(stdout).not.toMatch(/hunter/);
  expect(stdout).not.toContain(OTHER_KEY);
});

longIt('exits quietly if its reader closes the pipe early', async () => {
  // `true` ends before the first finding, so every write fails.
  const { stdout, stderr } = await new Program(
    'bash',
    ['-c', '"$0" "$1" doctor | true; echo "${PIPESTATUS[0]}"', process.execPath, CLI],
    { DATABASE_URL: 'postgres://127.0.0.1:1/advocacy' },
  ).ended;
  expect([stdout, stderr]).toEqual(['1\n', '']);
});

it('a server starts without an index, and logs how to create it', async () => {
  const name = await newDatabase();
  await asSuperuser(name, (run) => run('DROP INDEX events_by_time'));
  const warned: unknown[] = [];
  const logger = Object.assign(new JsonLogger('silent'), { warn: (line: unknown) => warned.push(line) });
  const runtime = await openRuntime(readConfig({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY }), logger);
  const { source } = runtime;
  const [{ statements }] = warned as [{ statements: string[] }];
  for (const statement of statements) await source.query(statement);
  expect(await missingFromSchema(source, schema)).toEqual({ parts: [], indexes: [] });
  await runtime.close();
});

it('creates no migrations, projections or keys in an empty database', async () => {
  const name = await newDatabase('');
  expect(await diagnose({ DATABASE_URL: urlOf(name), ENCRYPTION_KEY })).toContainEqual({
    check: 'extensions',
    level: 'ok',
    message: 'The migrations will create pg_trgm and btree_gin.',
  });
  expect(
    await asSuperuser(name, (run) => run(`SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace`)),
  ).toEqual([]);
  const directory = await mkdtemp(join(tmpdir(), 'none-'));
  await diagnose({ DATA_DIR: join(directory, 'data') });
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
});

// This test is last, because it turns the cluster into a replica.
longIt('reports a database that is a replica, keeps no log to restore from, and is frozen', async () => {
  await asSuperuser('postgres', async (run) => {
    await run('ALTER SYSTEM SET wal_level = minimal');
    await run('ALTER SYSTEM SET archive_mode = off');
  });
  await cluster.stop('fast');
  await writeFile(join(directory, 'data', 'standby.signal'), '');
  await cluster.start();
  const environment = { DATABASE_URL: urlOf(model), ENCRYPTION_KEY };
  expectFindings(await diagnose(environment), [
    problem('database', /^DATABASE_URL leads to a replica, which accepts no writes\.$/),
    warning('settings', /^wal_level is minimal/),
  ]);
  await cluster.freeze();
  expectFindings(await diagnose(environment), [
    problem('database', /: it accepts connections but does not respond/, /PgBouncer/),
  ]);
});
