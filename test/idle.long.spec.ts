import { setTimeout as sleep } from 'node:timers/promises';
import { NIL } from 'uuid';
import { type CountingProxy, eventually, startCountingProxy } from '#libs/testing';
import { webhooks } from '../src/webhooks/index.js';
import { Client } from './harness.js';
import { Deployment } from './processes.js';
import { Receiver } from './receiver.js';

/** Every kind of background work runs in this time, except work that is due every minute or every hour. */
const SECONDS = 20;
const MOST_A_SECOND = 5;

type Idle = { own: Deployment; proxy: CountingProxy; client: Client };
const all: Idle[] = [];
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(async () => {
  await Promise.all(all.map(({ own, proxy }) => Promise.all([own.stop(), proxy.close()])));
  await receiver.stop();
});

/** One instance, and organizations without activity that have this many webhooks in total. */
async function startWith(count: number): Promise<Idle> {
  const own = await Deployment.create();
  const proxy = await startCountingProxy(own.database.url);
  const { organizationId, key } = await own.organization();
  const { origin } = await own.startServer({ DATABASE_URL: proxy.url, WEBHOOK_ALLOW_PRIVATE: 'true' });
  const client = new Client(origin, organizationId, key);
  const idle = { own, proxy, client };
  all.push(idle);
  expect((await client.post('webhook.create-webhook', { url: receiver.at('hook') })).status).toBe(200);
  const { source } = own.database;
  await eventually(async () => expect(await source.query('SELECT FROM webhook_cursors')).toHaveLength(1));
  await source.query(
    `WITH others AS MATERIALIZED (
       SELECT gen_random_uuid() AS id, gen_random_uuid() AS organization_id FROM generate_series(2, $1::int)
     ), made AS (
       INSERT INTO ${webhooks.table} SELECT (jsonb_populate_record(w, to_jsonb(o))).* FROM ${webhooks.table} w, others o
     )
     INSERT INTO webhook_cursors (webhook_id, organization_id, position, told, news)
     SELECT id, organization_id, 1, 1, 1 FROM others`,
    [count],
  );
  return idle;
}

/** Waits until everything is sealed, delivered and projected. */
async function untilIdle({ own: { database } }: Idle): Promise<void> {
  await eventually(async () => {
    const [row] = await database.source.query<object[]>(
      `SELECT last_position() - (SELECT position FROM sealing) AS "unsealed",
         (SELECT count(*)::int FROM signed_notes WHERE NOT logged AND organization_id <> '${NIL}') AS "unlogged",
         (SELECT count(*)::int FROM checkpoints WHERE position < last_position()) AS projections,
         (SELECT count(*)::int FROM subscriptions WHERE position < last_position()) AS subscriptions,
         (SELECT count(*)::int FROM webhook_cursors WHERE news > position OR holder IS NOT NULL) AS webhooks`,
    );
    expect(row).toEqual({ unsealed: '0', unlogged: 0, projections: 0, subscriptions: 0, webhooks: 0 });
  });
}

it('an idle instance sends at most five statements per second, even with 10,000 webhooks', async () => {
  const idle = await Promise.all([10_000, 1].map(startWith));
  await Promise.all(idle.map(untilIdle));
  for (const { proxy } of idle) proxy.forget();
  const begun = performance.now();
  await sleep(SECONDS * 1_000);
  const seconds = (performance.now() - begun) / 1_000;
  for (const { proxy } of idle) {
    const statements = proxy.turns.flatMap(({ statements }) => statements);
    // It polls, even on a slow machine.
    expect(statements.filter((text) => text.includes('webhook_news')).length).toBeGreaterThan(1);
    // A statement every P seconds occurs at most once more than seconds / P times in any window.
    const kinds = new Set(statements).size;
    expect(statements.length).toBeLessThanOrEqual(MOST_A_SECOND * seconds + kinds);
  }

  // It wakes up for new events.
  for (const [n, { client }] of idle.entries()) {
    const email = `awake-${n}@example.org`;
    const { organizationId } = client;
    expect((await client.post('contact.create-contact', { organizationId, email })).status).toBe(200);
    const delivered = () => receiver.of('hook').map(({ text }) => text);
    await eventually(() => expect(delivered().join('\n')).toContain(email));
  }
});
