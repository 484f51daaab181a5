import { setTimeout as sleep } from 'node:timers/promises';
import { command } from './commands.js';
import { type Client } from './harness.js';
import { Deployment, eventually, type ServerProcess } from './processes.js';
import { Receiver } from './receiver.js';
import { longIt } from './length.js';

/** With `FAULT_SECONDS`, as for the tests of faults, this takes as long as necessary. */
const IS_LONG = process.env.FAULT_SECONDS !== undefined;
const EVENTS = IS_LONG ? 10_000 : 500;
const AWAY_MS = IS_LONG ? 60_000 : 2_000;
/** The maximum number of consecutive failures per event, apart from the downtime. */
const MOST_FAILURES = IS_LONG ? 3 : 2;
const LONGEST_MS = IS_LONG ? 900_000 : 600_000;
jest.setTimeout(LONGEST_MS);

let deployment: Deployment;
let client: Client;
let server: ServerProcess;
const start = () => deployment.startServer({ WEBHOOK_ALLOW_PRIVATE: 'true' });
beforeAll(async () => {
  deployment = await Deployment.create();
  server = await start();
});
beforeEach(async () => {
  client = await deployment.organization();
  await knows(client);
});
afterAll(() => deployment.stop());

const knows = (organization: Client) =>
  eventually(async () =>
    expect((await organization.at(server.origin).get('list.list-lists')).status).toBe(200),
  );
const sql = <Row>(text: string, values: unknown[] = []) =>
  deployment.database.source.query<Row[]>(text, values);

async function create(server: ServerProcess, url: string, by = client): Promise<string> {
  const { status, body } = await by.at(server.origin).post('webhook.create-webhook', {
    url,
    eventTypes: ['ContactCreated', 'ListCreated'],
  });
  expect(status).toBe(200);
  const { webhookId } = body.data;
  await eventually(async () =>
    expect(await sql('SELECT FROM webhook_cursors WHERE webhook_id = $1', [webhookId])).toHaveLength(1),
  );
  return webhookId;
}

/** Creates this many events in batches. */
async function makeEvents(server: ServerProcess, count: number): Promise<void> {
  for (let n = 0; n < count; n += 50) {
    const lines = Array.from({ length: 50 }, (_, i) =>
      JSON.stringify({ email: `person-${n + i}@example.org` }),
    );
    const { status, body } = await client
      .at(server.origin)
      .request('POST', '/v1/contact.import-contacts?subscribed=true', lines.join('\n'), {
        'Content-Type': 'application/x-ndjson',
      });
    expect([status, body.data.created]).toEqual([200, 50]);
  }
}

const eventIds = async (after = 0) =>
  (
    await sql<{ event_id: string }>(
      `SELECT event_id FROM events WHERE organization_id = $1 AND position > $2 AND type IN ('ContactCreated', 'ListCreated')
       ORDER BY position`,
      [client.organizationId, after],
    )
  ).map(({ event_id }) => event_id);

/** Waits longer than `eventually`. */
const atLast = (check: () => unknown) => eventually(check, (LONGEST_MS - 60_000) / 1_000);

const retries = (webhookId: string) =>
  sql<{ attempts: number }>('SELECT attempts FROM webhook_retries WHERE webhook_id = $1', [webhookId]);

/** Creates a last event, and waits until the webhook has reached it and no attempt is in flight. */
async function sentToTheEnd(server: ServerProcess, webhookId: string): Promise<void> {
  await client.at(server.origin).post('list.create-list', { name: 'The last event' });
  const [last] = await sql<{ position: string }>(
    `SELECT max(position) AS position FROM events WHERE organization_id = $1`,
    [client.organizationId],
  );
  await atLast(async () => {
    const [cursor] = await sql<{ position: string }>(
      'SELECT position FROM webhook_cursors WHERE webhook_id = $1 AND holder IS NULL',
      [webhookId],
    );
    expect(Number(cursor?.position)).toBeGreaterThanOrEqual(Number(last!.position));
    expect(await retries(webhookId)).toEqual([]);
  });
}

longIt(
  'every event arrives at a receiver that fails a third at random, hangs and stops, even if an instance is killed',
  async () => {
    const failures = new Map<string, number>();
    const delivered = new Set<string>();
    const hung = new Set<string>();
    const receiver = await Receiver.start(({ id }, response) => {
      if (hung.size < 5 && !failures.has(id)) {
        hung.add(id);
        failures.set(id, MOST_FAILURES);
        return;
      }
      const failed = failures.get(id) ?? 0;
      if (failed < MOST_FAILURES && Math.random() < 1 / 3) {
        failures.set(id, failed + 1);
        response.writeHead(500).end();
        return;
      }
      delivered.add(id);
      response.end();
    });
    const servers = [await start(), await start(), server] as const;
    const webhookId = await create(servers[0], receiver.at('hook'));
    const making = makeEvents(servers[1], EVENTS);
    await eventually(() => expect(delivered.size).toBeGreaterThan(EVENTS / 10));
    // Kills an instance, which may own the lease.
    servers[0].send('SIGKILL');
    await making;
    await receiver.stop();
    await sleep(AWAY_MS);
    await receiver.listen();
    const ids = await eventIds();
    expect(ids).toHaveLength(EVENTS);
    await atLast(async () => {
      // Skips pauses of minutes, but not leases, which last at most half a minute. In the long form, only the
      // pauses of half an hour, which follow an event's own failures and the downtime.
      await sql(
        `UPDATE webhook_retries SET due_at = clock_timestamp()
       WHERE due_at > clock_timestamp() + interval '35 seconds' AND attempts >= $1`,
        [IS_LONG ? 5 : 0],
      );
      expect(ids.filter((id) => !delivered.has(id))).toEqual([]);
    });
    await atLast(async () =>
      expect(await sql('SELECT FROM webhook_retries WHERE webhook_id = $1', [webhookId])).toEqual([]),
    );
    // No other event arrived, and each attempt had the event's own id.
    expect(new Set(receiver.deliveries.map(({ id }) => id))).toEqual(new Set(ids));
    expect(receiver.deliveries.every(({ id, body }) => id === body.id)).toBe(true);
    // First attempts began in the order of positions.
    const first = await sql<{ position: string; created_at: Date }>(
      `SELECT position, created_at FROM webhook_deliveries WHERE webhook_id = $1 AND attempt = 1
     ORDER BY created_at, position`,
      [webhookId],
    );
    const positions = first.map(({ position }) => Number(position));
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    await receiver.stop();
  },
);

longIt(
  'an unavailable receiver uses up attempts of few events, and receives all soon after it returns',
  async () => {
    const receiver = await Receiver.start();
    const servers = [await start(), server] as const;
    const webhookId = await create(servers[0], receiver.at('hook'));
    await receiver.stop();
    await makeEvents(servers[1], 300);
    const waiting = () => retries(webhookId);
    await eventually(async () => expect(await waiting()).not.toEqual([]));
    const noticed = (await waiting()).length;
    await eventually(async () => expect((await waiting()).length).toBeGreaterThanOrEqual(noticed + 2));
    // The attempts in flight when it was noticed, and one for each probe since.
    expect((await waiting()).length).toBeLessThan(40);
    // As after a downtime of hours with many retries.
    await sql(
      `UPDATE webhook_cursors SET failing_since = failing_since - interval '3 hours' WHERE webhook_id = $1`,
      [webhookId],
    );
    await sql(
      `UPDATE webhook_retries SET attempts = 6, due_at = due_at + interval '2 hours' WHERE webhook_id = $1`,
      [webhookId],
    );
    await receiver.listen();
    const ids = await eventIds();
    await atLast(() => expect(new Set(receiver.deliveries.map(({ id }) => id)).size).toBe(ids.length));
    await atLast(async () => expect(await waiting()).toEqual([]));
    await receiver.stop();
  },
);

longIt('an orderly stop records what was sent, and no other instance sends it again', async () => {
  const receiver = await Receiver.start((_, response) => void setTimeout(() => response.end(), 5));
  const [one, other] = [await start(), server];
  const webhookId = await create(one, receiver.at('hook'));
  const making = makeEvents(other, 250);
  await eventually(() => expect(receiver.deliveries.length).toBeGreaterThan(50));
  await one.end('SIGTERM');
  await making;
  await sentToTheEnd(other, webhookId);
  const ids = await eventIds();
  expect(receiver.deliveries.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  await receiver.stop();
});

it('in-flight events no longer contain the data of a contact that has been erased', async () => {
  const held: (() => void)[] = [];
  let isErased = false;
  const receiver = await Receiver.start((_, response) => {
    if (isErased) response.end();
    else held.push(() => response.end());
  });
  await create(server, receiver.at('hook'));
  await makeEvents(server, 50);
  await eventually(() => expect(receiver.deliveries.length).toBeGreaterThan(0));
  const q = 'person-49@example.org';
  const by = client.at(server.origin);
  const { body } = await by.get('contact.list-contacts', { q });
  const { id: contactId } = body.data[0];
  expect((await by.delete('contact.delete-contact', { contactId })).status).toBe(200);
  // Events read before the erasure may be sent for a second at most.
  await sleep(1_100);
  isErased = true;
  for (const answer of held) answer();
  await eventually(() => expect(new Set(receiver.deliveries.map(({ id }) => id)).size).toBe(50));
  const ofErased = receiver.deliveries.filter(({ body: event }) => event.recordId === contactId);
  expect(ofErased.map(({ body: event }) => event.data.personal)).toEqual(ofErased.map(() => null));
  await receiver.stop();
});

longIt('webhook replay sends exactly the events after a position or from a time', async () => {
  const receiver = await Receiver.start();
  await makeEvents(server, 50);
  const webhookId = await create(server, receiver.at('hook'));
  const [{ position, recorded_at }] = (await sql<{ position: string; recorded_at: Date }>(
    `SELECT position, recorded_at FROM events WHERE organization_id = $1 AND type = 'ContactCreated'
     ORDER BY position OFFSET 20 LIMIT 1`,
    [client.organizationId],
  )) as [{ position: string; recorded_at: Date }];
  const run = async (...args: string[]) => {
    const organization = ['--organization', client.organizationId];
    return command(
      ['--json', 'webhook', 'replay', webhookId, ...organization, ...args],
      deployment.environment,
    );
  };
  const { status, stdout } = await run('--from-position', position);
  expect([status, JSON.parse(stdout).id]).toEqual([0, webhookId]);
  const after = await eventIds(Number(position));
  expect(after).toHaveLength(29);
  await eventually(() => expect(receiver.deliveries.length).toBeGreaterThanOrEqual(29));
  await sentToTheEnd(server, webhookId);
  const all = await eventIds(Number(position));
  expect(all).toHaveLength(30);
  expect(receiver.deliveries.map(({ id }) => id).toSorted()).toEqual(all.toSorted());

  await run('--from', recorded_at.toISOString());
  await eventually(() => expect(receiver.deliveries.length).toBeGreaterThanOrEqual(30 + 31));
  for (const args of [
    [],
    ['--from-position', '-1'],
    ['--from', 'then'],
    ['--from', '2026-11-20T09:30:00Z', '--from-position', '1'],
  ]) {
    const wrong = await run(...args);
    expect([wrong.status, wrong.stdout]).toEqual([1, '']);
  }
  await receiver.stop();
});

it('hanging receivers do not delay other organizations', async () => {
  const receiver = await Receiver.start(({ path }, response) => {
    if (!path.startsWith('/dead')) response.end();
  });
  await Promise.all(Array.from({ length: 20 }, (_, n) => create(server, receiver.at(`dead-${n}`))));
  const other = await deployment.organization();
  await knows(other);
  await create(server, receiver.at('alive'), other);
  await makeEvents(server, 100);
  await eventually(() =>
    expect(receiver.deliveries.filter(({ path }) => path.startsWith('/dead')).length).toBeGreaterThan(20),
  );
  const givenUp = async () =>
    (await sql('SELECT FROM webhook_deliveries WHERE organization_id = $1', [client.organizationId])).length;
  let made = 0;
  // A delivery that waited for a dead receiver would see an attempt given up after ten seconds. Five deliveries
  // must see none.
  for (let undelayed = 0; undelayed < 5;) {
    const before = await givenUp();
    await other.at(server.origin).post('list.create-list', { name: `${++made}` });
    await eventually(() => expect(receiver.of('alive')).toHaveLength(made));
    if ((await givenUp()) === before) undelayed += 1;
  }
  await receiver.stop();
});

longIt('hanging receivers leave slots for others of their organization, too', async () => {
  const receiver = await Receiver.start(({ path }, response) => {
    if (!path.startsWith('/dead')) response.end();
  });
  const dead = await Promise.all(
    Array.from({ length: 6 }, (_, n) => create(server, receiver.at(`dead-${n}`))),
  );
  // More events than are tried with a dead receiver during this test.
  await makeEvents(server, 100);
  await atLast(async () =>
    expect(
      await sql('SELECT FROM webhook_cursors WHERE webhook_id = ANY ($1) AND failing_since IS NOT NULL', [
        dead,
      ]),
    ).toHaveLength(dead.length),
  );
  await create(server, receiver.at('alive'));
  for (let n = 0; n < 20; n += 1) {
    await client.at(server.origin).post('list.create-list', { name: `${n}` });
    await eventually(() => expect(receiver.of('alive')).toHaveLength(n + 1));
  }
  await receiver.stop();
});
