import { Client as Connection } from 'pg';
import { type PostgresServer, startPostgres } from '#libs/testing';
import { type Answer, type Client } from './harness.js';
import { Deployment, eventually, type ServerProcess } from './processes.js';
import { isLong, longDescribe, longIt, someOf } from './length.js';

let postgres: PostgresServer;
let deployment: Deployment;
let server: ServerProcess;
let client: Client;

beforeAll(async () => {
  postgres = await startPostgres();
  deployment = await Deployment.create(postgres.applicationUrl);
  const organization = await deployment.organization();
  server = await deployment.startServer();
  client = organization.at(server.origin).withoutRetries();
  expect((await create('first')).status).toBe(200);
});
afterAll(async () => {
  await postgres.resume();
  await deployment.stop();
  await postgres.remove();
});

/** Creates a contact, with this Idempotency-Key. */
function create(key: string): Promise<Answer> {
  const { organizationId } = client;
  const email = `${key}@example.org`;
  return client.post('contact.create-contact', { organizationId, email }, { 'Idempotency-Key': key });
}

async function health(question: 'live' | 'ready'): Promise<{ status: number; body: any }> {
  const response = await fetch(`${server.origin}/health/${question}`);
  return { status: response.status, body: await response.json() };
}

const becomesReady = () => eventually(async () => expect((await health('ready')).status).toBe(200));
const becomesUnready = (message: string, reason = 'DATABASE_TAKES_NO_WRITES') =>
  eventually(async () => {
    const { status, body } = await health('ready');
    expect([status, body.error?.reason, body.error?.message]).toEqual([503, reason, message]);
  });

/** Expects that each request takes effect once, and that repeats get the first response. */
async function expectDoneOnce(keys: readonly string[]): Promise<void> {
  const ids = new Map<string, string>();
  for (const key of [...keys, ...keys]) {
    const { status, body } = await create(key);
    expect(status).toBe(200);
    expect(ids.get(key) ?? body.data.contactId).toBe(body.data.contactId);
    ids.set(key, body.data.contactId);
  }
  expect(new Set(ids.values()).size).toBe(keys.length);
  const rows = await deployment.database.source.query(
    `SELECT stream_id FROM events WHERE type = 'ContactCreated' AND stream_id = ANY ($1)`,
    [[...ids.values()]],
  );
  expect(rows).toHaveLength(keys.length);
}

it('while PostgreSQL is frozen, every request gets 503, most of them immediately, and everything recovers afterwards', async () => {
  const keys = Array.from({ length: isLong ? 300 : 60 }, (_, n) => `frozen-${n}`);
  await postgres.freeze();
  const answers = keys.map((key) => create(key));
  await becomesUnready('The database does not respond.', 'DATABASE_UNREACHABLE');
  expect((await health('live')).status).toBe(200);
  // The first requests and some of these wait for the database. The others are rejected immediately.
  await eventually(async () => {
    const tried = await Promise.all(Array.from({ length: 30 }, (_, n) => create(`shed-${n}`)));
    for (const { status, headers } of tried) {
      expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d$/)]);
    }
    const shed = tried.filter(({ body }) => body.error.message === 'The database does not respond.');
    expect(shed.length).toBeGreaterThanOrEqual(20);
  });
  for (const { status, body } of await Promise.all(answers)) {
    expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  }
  await postgres.resume();
  await becomesReady();
  // No request is rejected any more.
  await expectDoneOnce(keys.slice(0, 20));
});

longIt('PostgreSQL stopped: logs the problem with its fix once, and its end once', async () => {
  const isOver = () => {
    const last = server.log.findLast(({ message }) =>
      ['database problem', 'the database works again'].includes(message),
    );
    return expect(last?.message).toBe('the database works again');
  };
  await eventually(isOver);
  const from = server.log.length;
  const lines = () => server.log.slice(from);
  const logged = (message: string) => lines().filter((line) => line.message === message);
  await postgres.stop('immediate');
  let refused = 0;
  const ask = async () => {
    const { status, body } = await client.get('contact.list-contacts');
    if (status === 200) return;
    expect([status, body.error.reason]).toEqual([503, 'DATABASE_UNREACHABLE']);
    refused += 1;
  };
  // A page of the public site counts like an operation.
  const visit = async () => {
    const { status } = await fetch(`${server.origin}/unknown-organization`);
    expect([404, 503]).toContain(status);
    if (status === 503) refused += 1;
  };
  await eventually(async () => {
    await Promise.all(Array.from({ length: 10 }, ask));
    await visit();
    expect(refused).toBeGreaterThan(20);
    expect(logged('not ready')).toHaveLength(1);
  });
  await becomesUnready('The database does not respond.', 'DATABASE_UNREACHABLE');
  await postgres.start();
  await becomesReady();
  await eventually(() => expect(logged('the database works again')).toHaveLength(1));

  const [over] = logged('the database works again');
  expect(over).toMatchObject({ level: 'info', refusedRequests: refused, seconds: expect.any(Number) });
  const problems = logged('database problem');
  expect(new Set(problems.map(({ problem }) => problem)).size).toBe(problems.length);
  expect(problems).toContainEqual(
    expect.objectContaining({
      level: 'error',
      problem: expect.stringContaining('Start PostgreSQL'),
      reason: expect.stringContaining('ECONNREFUSED'),
    }),
  );
  // The only other lines are those of the requests.
  expect(new Set(lines().map(({ message }) => message))).toEqual(
    new Set([
      'request',
      'database problem',
      'not ready',
      'ready again: the database accepts reads and writes',
      'the database works again',
    ]),
  );
  for (const message of ['not ready', 'ready again: the database accepts reads and writes']) {
    expect(logged(message)).toHaveLength(1);
  }
  expect(lines().filter(({ stack }) => stack !== undefined)).toEqual([]);
  const requests = logged('request').filter(({ status }) => status === 503);
  expect(requests.length).toBeGreaterThan(20);
  for (const { level, error } of requests) expect([level, error]).toEqual(['info', 'DATABASE_UNREACHABLE']);
});

longIt(
  'a lock on the history: writes get 503, reads continue, readiness reports it, and writes work after its release',
  async () => {
    const since = performance.now();
    const holder = deployment.database.source.createQueryRunner();
    await holder.startTransaction();
    await holder.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await holder.query('LOCK TABLE events IN EXCLUSIVE MODE');
    const keys = Array.from({ length: 5 }, (_, n) => `locked-${n}`);
    try {
      const answers = keys.map((key) => create(key));
      await becomesUnready('The database has completed no writes for ten seconds: something blocks them.');
      // Reporting earlier would take all instances out of service during migrations that block writers for
      // seconds. Ten checks have nine pauses, each of which may be a millisecond short.
      expect(performance.now() - since).toBeGreaterThan(8_900);
      expect((await client.get('contact.list-contacts')).status).toBe(200);
      expect((await health('live')).status).toBe(200);
      for (const { status, body, headers } of await Promise.all(answers)) {
        expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
        expect(headers.get('retry-after')).toMatch(/^\d$/);
      }
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
    await becomesReady();
    await expectDoneOnce(keys);
  },
);

longDescribe('writes that fail', () => {
  const asSuperuser = async (statement: string) => {
    const url = new URL(postgres.url);
    url.pathname = new URL(deployment.database.url).pathname;
    const connection = new Connection({ connectionString: url.href });
    await connection.connect();
    await connection.query(statement);
    await connection.end();
  };
  /** Disconnects all, because settings of a role apply to new connections only. */
  const cut = () =>
    asSuperuser(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'advocacy'`);

  const BREAKS: [
    what: string,
    breaks: string,
    mends: string,
    message: string,
    reason: string,
    words: RegExp,
  ][] = [
    [
      'a primary that became a standby',
      'ALTER ROLE advocacy SET default_transaction_read_only = on',
      'ALTER ROLE advocacy RESET default_transaction_read_only',
      'The database accepts no writes at the moment.',
      'DATABASE_TAKES_NO_WRITES',
      /read-only transaction|accepts no writes/,
    ],
    [
      'no connections left',
      'ALTER ROLE advocacy CONNECTION LIMIT 0',
      'ALTER ROLE advocacy CONNECTION LIMIT -1',
      'The database accepts no more connections.',
      'DATABASE_UNREACHABLE',
      /too many connections for role/,
    ],
    [
      'a full disk',
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION fail()`,
      'DROP TRIGGER full_disk ON events',
      'The disk of the database is full: it accepts no writes at the moment.',
      'DATABASE_TAKES_NO_WRITES',
      /No space left on device/,
    ],
  ];

  it.each(someOf(BREAKS))(
    '%s: readiness and requests report it, and recover automatically',
    async (what, breaks, mends, message, reason, words) => {
      await becomesReady();
      await asSuperuser(breaks);
      await cut();
      try {
        await becomesUnready(message, reason);
        expect((await health('live')).status).toBe(200);
        const { status, body } = await create(what.replaceAll(' ', '-'));
        expect([status, body.error.reason]).toEqual([503, reason]);
        expect(body.error.message).toContain(message);
        await eventually(() => {
          expect(server.log).toContainEqual(
            expect.objectContaining({ message: 'not ready', problem: message }),
          );
          const line = { message: 'database problem', level: 'error' };
          expect(server.log).toContainEqual(
            expect.objectContaining({ ...line, reason: expect.stringMatching(words) }),
          );
        });
      } finally {
        await asSuperuser(mends);
        await cut();
      }
      await becomesReady();
      await eventually(async () => expect((await create(what.replaceAll(' ', '-'))).status).toBe(200));
    },
  );

  longIt('a revoked privilege: readiness reports it', async () => {
    await becomesReady();
    await asSuperuser('REVOKE INSERT ON events FROM advocacy');
    try {
      await becomesUnready('The database is not completing writes.');
    } finally {
      await asSuperuser('GRANT INSERT ON events TO advocacy');
    }
    await becomesReady();
  });

  longIt('a role that may not log in: requests get 503 until the role is fixed', async () => {
    await asSuperuser('ALTER ROLE advocacy NOLOGIN');
    await cut();
    try {
      await eventually(async () => expect((await create('nobody')).status).toBe(503));
      expect((await create('nobody')).status).toBe(503);
    } finally {
      await asSuperuser('ALTER ROLE advocacy LOGIN');
    }
    await becomesReady();
    await eventually(async () => expect((await create('somebody')).status).toBe(200));
  });
});
