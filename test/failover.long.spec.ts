import { setTimeout as sleep } from 'node:timers/promises';
import { type SilentProxy, startSilentProxy } from '#libs/testing';
import { type Client } from './harness.js';
import { Deployment, eventually, type ServerProcess } from './processes.js';

/**
 * The database fails over: established connections go silent, and only new ones reach it. With `serverGone`, the host and its
 * locks are lost. Otherwise the address has moved, and the old backends still hold their locks.
 */
describe.each([{ serverGone: true }, { serverGone: false }])('connections go silent (%j)', (silence) => {
  let deployment: Deployment;
  let proxy: SilentProxy;
  let servers: ServerProcess[];
  let clients: Client[];

  beforeAll(async () => {
    deployment = await Deployment.create();
    proxy = await startSilentProxy(deployment.database.url);
    const organization = await deployment.organization();
    const start = () => deployment.startServer({ DATABASE_URL: proxy.url });
    servers = await Promise.all([start(), start()]);
    clients = servers.map(({ origin }) => organization.at(origin));
  });
  afterAll(async () => {
    // Closed first, because it holds the silent connections.
    await proxy.close();
    await deployment.stop();
  });

  it('under load, every instance recovers automatically and loses nothing that was acknowledged', async () => {
    const { source } = deployment.database;
    const acknowledged: string[] = [];
    const outside = new Set<string>();
    let silentAt = 0;
    const recovered = new Map<string, number>();
    let ended = false;
    const load = clients.flatMap((client, server) =>
      [1, 2, 3, 4].map(async (worker) => {
        const { organizationId } = client;
        for (let n = 0; !ended; n += 1) {
          const begun = performance.now();
          const contact = { organizationId, email: `${server}.${worker}.${n}@example.org` };
          const { status, body } = await client.post('contact.create-contact', contact);
          if (status === 200) acknowledged.push(body.data.contactId);
          else if (status !== 503 || body.error.code !== 'SERVICE_UNAVAILABLE')
            outside.add(JSON.stringify(body));
          const name = `instance ${server} worker ${worker}`;
          if (status === 200 && silentAt > 0 && begun > silentAt && !recovered.has(name)) {
            recovered.set(name, performance.now() - silentAt);
          }
          await sleep(20);
        }
      }),
    );
    const answers: string[] = [];
    const readiness = (async () => {
      while (!ended) {
        const at = performance.now();
        const { status } = await fetch(`${servers[0]!.origin}/health/ready`);
        answers.push(`${((at - silentAt) / 1_000).toFixed(1)} s: ${status}`);
        await sleep(500);
      }
    })();

    await eventually(() => expect(acknowledged.length).toBeGreaterThan(20));
    silentAt = performance.now();
    answers.length = 0;
    proxy.silence(silence);
    await eventually(() => expect(recovered.size).toBe(load.length));
    const seconds = [...recovered.values()].map((ms) => ms / 1_000);
    // Background work: projections, seals and heartbeats.
    const last = Number((await source.query('SELECT max(position) FROM events'))[0].max);
    await eventually(async () => {
      const behind = await source.query(
        `SELECT 'sealing' WHERE (SELECT position FROM sealing) < $1
         UNION ALL SELECT projection FROM checkpoints WHERE position < $1 OR failed_at IS NOT NULL
         UNION ALL SELECT 'serving' WHERE
           (SELECT count(DISTINCT instance) FROM serving WHERE seen_at > clock_timestamp() - interval '10 s') < 2`,
        [last],
      );
      expect(behind).toEqual([]);
    });
    const background = (performance.now() - silentAt) / 1_000;
    ended = true;
    await Promise.all([...load, readiness]);
    process.stdout.write(
      `silent ${JSON.stringify(silence)}: requests after ${Math.min(...seconds).toFixed(1)} to ` +
        `${Math.max(...seconds).toFixed(1)} s, background after ${background.toFixed(1)} s; ` +
        `readiness ${answers.join(', ')}\n`,
    );
    expect([...outside]).toEqual([]);
    const stored = await source.query<{ stream_id: string }[]>(
      `SELECT stream_id FROM events WHERE type = 'ContactCreated' AND stream_id = ANY ($1)`,
      [acknowledged],
    );
    expect(stored.map(({ stream_id }) => stream_id).sort()).toEqual(acknowledged.sort());
    await eventually(async () => {
      for (const { origin } of servers) expect((await fetch(`${origin}/health/ready`)).status).toBe(200);
    });
  });

  it('idle, requests get responses, and a stop is not delayed', async () => {
    await sleep(1_000);
    proxy.silence(silence);
    await eventually(async () => {
      for (const client of clients) {
        const { organizationId } = client;
        expect((await client.get('contact.list-contacts', { organizationId })).status).toBe(200);
      }
    });
    proxy.silence(silence);
    const ends = await Promise.all(servers.map((server) => server.end('SIGTERM')));
    // 1, because on a busy machine closing may exceed the time for a stop, which then ends the rest.
    for (const { status } of ends) expect([0, 1]).toContain(status);
    for (const { log } of servers) expect(log.filter(({ level }) => level === 'fatal')).toEqual([]);
  });
});
