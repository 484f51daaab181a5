import { randomBytes } from 'node:crypto';
import { Client as Connection } from 'pg';
import { schemaOf } from '#libs/projections';
import { fieldsOf, operationNamed } from '#libs/rpc';
import { type PostgresServer, startPostgres } from '#libs/testing';
import { inspectConfig } from '../src/config/index.js';
import { contactsProjection } from '../src/contacts/index.js';
import { examine } from '../src/doctor/index.js';
import { petitions } from '../src/petitions/index.js';
import { type Fields, Fixture } from './fixture.js';
import { Api, type Client } from './harness.js';
import { OPERATIONS } from './operations.js';
import { eventually } from './processes.js';
import { longIt, someOf } from './length.js';

let primary: PostgresServer;
let replica: PostgresServer;
let api: Api;
let client: Client;
/** A client of the same organization on the other instance. */
let elsewhere: Client;

beforeAll(async () => {
  primary = await startPostgres();
  await primary.stop('fast');
  // Replay immediately cancels conflicting queries.
  replica = await startPostgres({ replicaOf: primary, settings: { max_standby_streaming_delay: 0 } });
  await primary.start();
  process.env.TEST_DATABASE_URL = primary.applicationUrl;
  api = await Api.start({ instances: 0 });
  const url = new URL(replica.applicationUrl);
  url.pathname = new URL(api.database.url).pathname;
  for (let n = 0; n < 2; n += 1) await api.addInstance({ DATABASE_REPLICA_URL: url.href });
  client = await api.organization();
  elsewhere = client.at(api.instances[1]!.origin);
  await untilServing();
});
afterAll(async () => {
  await api.stop();
  await replica.remove();
  await primary.remove();
});
beforeEach(async () => {
  await untilServing();
  forgetReads();
});

function forgetReads(): void {
  for (const { runtime } of api.instances) Object.assign(runtime.reads.answered, { replica: 0, primary: 0 });
}

/** The numbers of replica-eligible reads that the replica and the primary served. */
function reads(): { replica: number; primary: number } {
  const all = api.instances.map(({ runtime }) => runtime.reads.answered);
  const sum = (by: 'replica' | 'primary') => all.reduce((total, one) => total + one[by], 0);
  return { replica: sum('replica'), primary: sum('primary') };
}

async function untilServing(): Promise<void> {
  await eventually(() => {
    for (const { runtime } of api.instances) expect(runtime.reads.problem).toBeUndefined();
  });
}

async function onReplica(text: string): Promise<any[]> {
  const connection = new Connection({ connectionString: replica.url });
  await connection.connect();
  try {
    return (await connection.query(text)).rows;
  } finally {
    await connection.end();
  }
}

let people = 0;
async function createContact(): Promise<{ contactId: string; email: string }> {
  const email = `person-${(people += 1)}@example.org`;
  const { organizationId } = client;
  const { status, body } = await client.post('contact.create-contact', { organizationId, email, bio: 'x' });
  expect(status).toBe(200);
  return { contactId: body.data.contactId, email };
}

/** Expects that the other instance immediately returns a new contact, and does not return an erased one. */
async function expectWritesRead(): Promise<void> {
  const { contactId, email } = await createContact();
  const { organizationId } = client;
  const find = async () => {
    const { status, body } = await elsewhere.get('contact.list-contacts', { organizationId, email });
    expect(status).toBe(200);
    return body.data.map(({ id }: { id: string }) => id);
  };
  expect(await find()).toEqual([contactId]);
  const past = { organizationId, contactId, asOf: '9999-01-01T00:00:00Z' };
  expect((await elsewhere.get('contact.get-contact', past)).status).toBe(200);
  expect((await client.delete('contact.delete-contact', { organizationId, contactId })).status).toBe(200);
  expect(await find()).toEqual([]);
  expect((await elsewhere.get('contact.get-contact', past)).status).toBe(404);
}

describe('doctor', () => {
  const diagnose = async () => {
    const url = new URL(replica.applicationUrl);
    url.pathname = new URL(api.database.url).pathname;
    const environment = {
      DATABASE_URL: api.database.url,
      DATABASE_REPLICA_URL: url.href,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const found: string[] = [];
    for await (const { check, message } of examine(inspectConfig(environment)))
      if (check === 'replica') found.push(message);
    return found;
  };

  longIt('reports whether the replica follows and keeps up', async () => {
    await eventually(async () => expect(await diagnose()).toEqual(['The replica keeps up.']));
    await onReplica('SELECT pg_wal_replay_pause()');
    try {
      await expectWritesRead();
      expect(await diagnose()).toEqual([
        expect.stringMatching(/^The replica is \d+ KiB of write-ahead log behind/),
      ]);
    } finally {
      await onReplica('SELECT pg_wal_replay_resume()');
    }
  });
});

describe('every read operation', () => {
  const queries = Object.entries(OPERATIONS).flatMap(([operation, { ask, answeredBy }]) =>
    answeredBy === undefined
      ? []
      : [{ operation, ask, expected: answeredBy === 'replica' ? 'replica' : 'primary' }],
  );

  let own: Fixture;
  beforeAll(() => {
    own = new Fixture(api, client);
  });

  it.each(queries)('$operation is served by the $expected, and with asOf by the replica', async (query) => {
    const { operation, ask, expected } = query;
    const { asOf: _, ...fields } = await ask(own);
    const answeredBy = async (more: Fields) => {
      forgetReads();
      await own.ask(operation, { ...fields, ...more });
      return reads().replica > 0 && reads().primary === 0 ? 'replica' : 'primary';
    };
    // On a busy machine, the replica may lag behind so far that the primary serves a read instead.
    await eventually(async () => expect(await answeredBy({})).toBe(expected));
    if (!fieldsOf(operationNamed(operation)).has('asOf')) return;
    const group = operation === 'contact.list-contacts' ? await own.the('list') : {};
    const past = { ...group, asOf: '9999-01-01T00:00:00Z' };
    await eventually(async () => expect(await answeredBy(past)).toBe('replica'));
  });
});

it('what one instance acknowledges, another reads from the replica, under load and after each erasure', async () => {
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => expectWritesRead()));
  }
  console.log('Reads by server:', reads());
  const { organizationId } = client;
  // The only contact that is not erased.
  await createContact();
  const exported = await elsewhere.get('contact.export-contacts', { organizationId, q: 'person-' });
  expect(exported.body.split('\n')).toHaveLength(2);
  expect(reads().replica).toBeGreaterThan(0);
});

longIt('a lagging replica is not read, is reported, and is used again after it has caught up', async () => {
  await onReplica('SELECT pg_wal_replay_pause()');
  await expectWritesRead();
  expect(reads().replica).toBe(0);
  await eventually(() => expect(api.instances[0]!.runtime.reads.problem).toBe('it lags behind'));
  const { body } = await client.request('GET', '/health/ready');
  expect(body.data).toMatchObject({ status: 'degraded', replica: expect.stringContaining('primary') });
  await onReplica('SELECT pg_wal_replay_resume()');
  await untilServing();
  await expectWritesRead();
  expect(reads().replica).toBeGreaterThan(0);
});

it('the primary serves reads that replay cancels on the replica', async () => {
  const { organizationId } = client;
  const { contactId } = await createContact();
  const { body } = await client.post('petition.create-petition', { organizationId, name: 'Signed' });
  const { petitionId } = body.data;
  await client.post('petition.publish-petition', { organizationId, petitionId });
  await client.post('petition.add-signature', { organizationId, petitionId, contactId });
  const connectionString = Object.assign(new URL(primary.url), {
    pathname: new URL(api.database.url).pathname,
  }).href;
  const [long, short] = [new Connection({ connectionString }), new Connection({ connectionString })];
  await Promise.all([long.connect(), short.connect()]);
  forgetReads();
  try {
    await long.query(`BEGIN; LOCK TABLE ${schemaOf(petitions.projection)}.signatures`);
    // This commit sends the log, including the lock, to the replica.
    await createContact();
    const response = elsewhere.get('contact.list-contacts', { organizationId, petitionId });
    // On the replica, the query waits for the signatures, and blocks the replay of a lock on the contacts.
    await eventually(async () => {
      expect(await onReplica('SELECT FROM pg_locks WHERE NOT granted')).toHaveLength(1);
    });
    await short.query(`BEGIN; LOCK TABLE ${schemaOf(contactsProjection)}.contacts; COMMIT`);
    await eventually(async () => {
      expect(await replica.readLog()).toContain('canceling statement due to conflict with recovery');
    });
    await long.query('ROLLBACK');
    const answer = await response;
    expect([answer.status, answer.body.data]).toMatchObject([200, [{ id: contactId }]]);
  } finally {
    await Promise.all([long.end(), short.end()]);
  }
  expect(reads()).toMatchObject({ primary: 1 });
  expect(api.instances[1]!.runtime.reads.problem).toBeUndefined();
});

it.each(
  someOf([
    ['frozen', () => replica.freeze(), () => replica.resume()],
    ['killed', () => replica.stop('immediate'), () => replica.start()],
  ] as const),
)('a replica that is %s is replaced by the primary, and used again automatically', async (_, fail, mend) => {
  const reading = Promise.all(Array.from({ length: 8 }, () => expectWritesRead()));
  await fail();
  try {
    await reading;
    await expectWritesRead();
    await eventually(() => expect(api.instances[0]!.runtime.reads.problem).toEqual(expect.any(String)));
    const { status, body } = await client.request('GET', '/health/ready');
    expect([status, body.data.status]).toEqual([200, 'degraded']);
  } finally {
    await mend();
  }
  await untilServing();
  forgetReads();
  await expectWritesRead();
  expect(reads().replica).toBeGreaterThan(0);
});

it('a promoted replica is no longer used', async () => {
  await onReplica('SELECT pg_promote()');
  await expectWritesRead();
  await eventually(() => expect(api.instances[0]!.runtime.reads.problem).toBe('it is not a standby'));
  forgetReads();
  await expectWritesRead();
  expect(reads().replica).toBe(0);
});
