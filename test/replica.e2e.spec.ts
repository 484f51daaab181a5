import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as Connection } from 'pg';
import { schemaOf } from '#libs/projections';
import { type PostgresServer, startPostgres } from '#libs/testing';
import { inspectConfig } from '../src/config.js';
import { contactsProjection } from '../src/contacts/index.js';
import { examine } from '../src/doctor/index.js';
import { petitions } from '../src/petitions/index.js';
import { Api, type Client } from './harness.js';
import { picture } from './pictures.js';
import { eventually } from './processes.js';

let primary: PostgresServer;
let replica: PostgresServer;
let api: Api;
let client: Client;
/** The same organization at the other instance. */
let elsewhere: Client;

beforeAll(async () => {
  primary = await startPostgres();
  await primary.stop('fast');
  // Whoever is in the way of replay is ended at once.
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

/** Reads that the replica answered, of those that it may, and that the primary had to. */
function reads(): { replica: number; primary: number } {
  const all = api.instances.map(({ runtime }) => runtime.reads.answered);
  const sum = (by: 'replica' | 'primary') => all.reduce((total, one) => total + one[by], 0);
  return { replica: sum('replica'), primary: sum('primary') };
}

async function untilServing(): Promise<void> {
  await eventually(() => {
    for (const { runtime } of api.instances) expect(runtime.reads.trouble).toBeUndefined();
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

/** What was written is there at once, at the other instance; and what was erased is not. */
async function expectWritesRead(): Promise<void> {
  const { contactId, email } = await createContact();
  const { organizationId } = client;
  const find = async () => {
    const { status, body } = await elsewhere.get('contact.list-contacts', { organizationId, email });
    expect(status).toBe(200);
    return body.data.map(({ id }: { id: string }) => id);
  };
  expect(await find()).toEqual([contactId]);
  const asOf = new Date(Date.now() + 60_000).toISOString();
  const past = { organizationId, contactId, asOf };
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

  it('tells whether it follows and keeps up', async () => {
    await eventually(async () => expect(await diagnose()).toEqual(['The replica follows and keeps up.']));
    await onReplica('SELECT pg_wal_replay_pause()');
    try {
      await expectWritesRead();
      expect(await diagnose()).toEqual([expect.stringMatching(/^The replica is \d+ KiB of the log behind/)]);
    } finally {
      await onReplica('SELECT pg_wal_replay_resume()');
    }
  });
});

describe('every read operation', () => {
  const byKey = 'reads one record by its key: asking whether the replica has it costs the primary as much';
  /** Where each reads; `asOf`: where it is given. */
  const READS: { [operation: string]: { now: 'replica' | { primary: string }; asOf?: 'replica' } } = {
    'api-key.list-api-keys': { now: 'replica' },
    'broadcast.get-broadcast': { now: { primary: byKey }, asOf: 'replica' },
    // What has become of their recipients, where there are any, comes from the primary.
    'broadcast.list-broadcasts': { now: 'replica' },
    'broadcast.list-recipients': { now: { primary: 'tells what has become of recipients by now' } },
    'broadcast.preview-audience': { now: { primary: 'is taken from one snapshot, as the start is' } },
    'broadcast.preview-broadcast': { now: { primary: byKey } },
    'contact.export-contacts': { now: 'replica' },
    'contact.get-contact': { now: { primary: byKey }, asOf: 'replica' },
    'contact.list-contacts': { now: 'replica' },
    'event.export-events': { now: 'replica' },
    'event.get-checkpoint': { now: { primary: 'may have to seal first' } },
    'event.get-event': { now: { primary: byKey } },
    'event.get-proof': { now: { primary: 'may have to seal first' } },
    'event.list-events': { now: 'replica' },
    'image.get-image': { now: { primary: byKey }, asOf: 'replica' },
    'image.list-images': { now: 'replica' },
    'list.get-list': { now: { primary: byKey }, asOf: 'replica' },
    'list.list-lists': { now: 'replica' },
    'organization.get-organization': { now: { primary: byKey }, asOf: 'replica' },
    'petition.export-signatures': { now: 'replica' },
    'petition.get-invalidation': { now: { primary: byKey }, asOf: 'replica' },
    'petition.get-petition': { now: { primary: byKey }, asOf: 'replica' },
    'petition.get-stats': { now: 'replica', asOf: 'replica' },
    'petition.list-invalidations': { now: 'replica' },
    'petition.list-petitions': { now: 'replica' },
    'petition.list-signatures': { now: 'replica' },
    'post.get-post': { now: { primary: byKey }, asOf: 'replica' },
    'post.list-posts': { now: 'replica' },
    'suppression.list-suppressions': { now: 'replica' },
    'tag.get-tag': { now: { primary: byKey }, asOf: 'replica' },
    'tag.list-tags': { now: 'replica' },
    'team.list-invitations': { now: 'replica' },
    'team.list-members': { now: 'replica' },
    'webhook.get-webhook': { now: { primary: byKey }, asOf: 'replica' },
    'webhook.list-deliveries': { now: 'replica' },
    'webhook.list-event-types': { now: { primary: 'asks no database for it' } },
    'webhook.list-webhooks': { now: 'replica' },
  };

  type Documented = { paths: { [path: string]: { get?: { parameters?: { name: string }[] } } } };
  const document = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8')) as Documented;
  const queries = Object.entries(document.paths).filter(([path, { get }]) => get && path.startsWith('/v1/'));

  it('is in the table', () => {
    expect(queries.map(([path]) => path.slice('/v1/'.length)).sort()).toEqual(Object.keys(READS).sort());
  });

  it('reads where the table says', async () => {
    const { organizationId } = client;
    const { contactId } = await createContact();
    const create = async (operation: string, fields: object) =>
      Object.values((await client.post(operation, { organizationId, ...fields })).body.data)[0] as string;
    const petitionId = await create('petition.create-petition', { name: 'P', title: 'P', goal: 1 });
    await client.post('petition.publish-petition', { petitionId });
    const signatureId = await create('petition.add-signature', { petitionId, contactId });
    const ids: Record<string, string> = {
      organizationId,
      contactId,
      petitionId,
      invalidationId: await create('petition.invalidate-signatures', {
        petitionId,
        signatureIds: [signatureId],
      }),
      postId: await create('post.create-post', { name: 'P', title: 'P' }),
      imageId: (
        await client.request('POST', '/v1/image.upload-image', await picture(), {
          'Content-Type': 'image/png',
        })
      ).body.data.imageId,
      listId: await create('list.create-list', { name: 'L' }),
      tagId: await create('tag.create-tag', { name: 'T' }),
      webhookId: await create('webhook.create-webhook', { url: 'https://webhooks.invalid/' }),
      broadcastId: await create('broadcast.create-broadcast', { name: 'B' }),
      eventId: (await client.get('event.list-events', { organizationId })).body.data[0].id,
    };
    for (const [path, { get }] of queries) {
      const operation = path.slice('/v1/'.length);
      const { now, asOf } = READS[operation]!;
      const names = (get!.parameters ?? []).map(({ name }) => name);
      const query = Object.fromEntries(
        Object.entries(ids).filter(
          ([name]) => names.includes(name) && !/list-contacts|export-contacts/.test(operation),
        ),
      );
      const ask = async (more: Record<string, string>) => {
        forgetReads();
        const { status } = await client.get(operation, { ...query, organizationId, ...more });
        expect({ operation, status }).toEqual({ operation, status: 200 });
        return reads().replica > 0 && reads().primary === 0 ? 'replica' : 'primary';
      };
      const expected = now === 'replica' ? 'replica' : 'primary';
      expect({ operation, from: await ask({}) }).toEqual({ operation, from: expected });
      expect({ operation, hasPast: names.includes('asOf') }).toEqual({
        operation,
        hasPast: asOf !== undefined,
      });
      if (asOf) {
        const moment = new Date(Date.now() + 60_000).toISOString();
        expect({ operation, from: await ask({ asOf: moment }) }).toEqual({ operation, from: asOf });
      }
    }
  });
});

it('what one instance acknowledges, another reads from the replica, under load and after each erasure', async () => {
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => expectWritesRead()));
  }
  console.log('Reads by who answered them:', reads());
  const { organizationId } = client;
  const exported = await elsewhere.get('contact.export-contacts', { organizationId, q: 'person-' });
  expect(exported.body.split('\n')).toHaveLength(2);
  expect(reads().replica).toBeGreaterThan(0);
});

it('a replica that is behind shows nothing old, says so, and serves again when it is not', async () => {
  await onReplica('SELECT pg_wal_replay_pause()');
  await expectWritesRead();
  expect(reads().replica).toBe(0);
  await eventually(() => expect(api.instances[0]!.runtime.reads.trouble).toBe('it lags behind'));
  const { body } = await client.request('GET', '/health/ready');
  expect(body.data).toMatchObject({ status: 'degraded', replica: expect.stringContaining('primary') });
  await onReplica('SELECT pg_wal_replay_resume()');
  await untilServing();
  await expectWritesRead();
  expect(reads().replica).toBeGreaterThan(0);
});

it('what replay cancels on the replica, the primary answers', async () => {
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
    // Commits, and with that the lock's place in the log goes to the replica.
    await createContact();
    const asked = elsewhere.get('contact.list-contacts', { organizationId, petitionId });
    // There it waits for the signatures, and is in the way of who locks the contacts.
    await eventually(async () => {
      expect(await onReplica('SELECT FROM pg_locks WHERE NOT granted')).toHaveLength(1);
    });
    await short.query(`BEGIN; LOCK TABLE ${schemaOf(contactsProjection)}.contacts; COMMIT`);
    await eventually(async () => {
      expect(await replica.readLog()).toContain('canceling statement due to conflict with recovery');
    });
    await long.query('ROLLBACK');
    const answer = await asked;
    expect([answer.status, answer.body.data]).toMatchObject([200, [{ id: contactId }]]);
  } finally {
    await Promise.all([long.end(), short.end()]);
  }
  expect(reads()).toMatchObject({ primary: 1 });
  expect(api.instances[1]!.runtime.reads.trouble).toBeUndefined();
});

it.each([
  ['frozen', () => replica.freeze(), () => replica.resume()],
  ['killed', () => replica.stop('immediate'), () => replica.start()],
])('a replica that is %s: the primary answers, and it serves again by itself', async (_, fail, mend) => {
  const reading = Promise.all(Array.from({ length: 20 }, () => expectWritesRead()));
  await fail();
  try {
    await reading;
    await expectWritesRead();
    await eventually(() => expect(api.instances[0]!.runtime.reads.trouble).toEqual(expect.any(String)));
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

it('a replica that became a server of its own is one no more', async () => {
  await onReplica('SELECT pg_promote()');
  await expectWritesRead();
  await eventually(() => expect(api.instances[0]!.runtime.reads.trouble).toBe('it is no standby'));
  forgetReads();
  await expectWritesRead();
  expect(reads().replica).toBe(0);
});
