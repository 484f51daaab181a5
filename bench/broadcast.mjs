/**
 * A broadcast by one and two instances to a mail server in its own process, compared with plain nodemailer on as many connections.
 * Measures messages per second, CPU time of the servers and PostgreSQL, memory, and response times during the broadcast.
 */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import nodemailer from 'nodemailer';
import pg from 'pg';
import { load } from './load.mjs';
import { importContacts } from './people.mjs';
import { cpuOf, cpuOfAll, memoryOf, postmasterOf } from './processes.mjs';
import { withProduct } from './servers.mjs';

export const options = {
  recipients: [100_000, 'recipients per broadcast'],
  connections: [10, 'connections to the mail server, over all instances'],
  plain: [20_000, 'messages per round of plain nodemailer'],
  rounds: [3, 'rounds per contender'],
  seconds: [5, 'seconds of requests, before and during a broadcast'],
};

const POLL_MS = 250;

const WITH_REQUESTS = '1 instance, with requests';

export async function run(bench) {
  const { rounds } = bench.options;
  await bench.withDatabase(async (url) => {
    const sink = await startSink();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      const place = { url, sink, client, postmaster: await postmasterOf(url), ...bench.options };
      const contenders = [
        { name: 'plain nodemailer', measure: () => plain(place) },
        { name: '1 instance', measure: () => broadcast(1, place) },
        { name: '2 instances', measure: () => broadcast(2, place) },
        { name: WITH_REQUESTS, measure: () => broadcast(1, place, { hasRequests: true }) },
      ];
      const { ratio, values } = await bench.measure('broadcast', contenders, rounds);
      for (const name of ['1 instance', '2 instances']) {
        bench.target(`${name} ÷ plain nodemailer`, ratio(name, 'plain nodemailer', 'messages/s'), {
          least: 0.5,
        });
        bench.target(`${name}: memory, second ÷ first half`, values(name, 'MiB, 2nd ÷ 1st half'), {
          most: 1.1,
        });
      }
      bench.target('p99 of get-contact, during ÷ before', values(WITH_REQUESTS, 'p99, during ÷ before'), {
        most: 2,
      });
      bench.note('The mail server received exactly one message per recipient.');
    } finally {
      await client.end();
      await sink.stop();
    }
  });
}

async function startSink() {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./smtp-sink.mjs', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  const { port } = await next();
  return {
    port,
    async count() {
      child.stdin.write('\n');
      return next();
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const HTML = `<p>${'The river is clean again, and people swim in it. '.repeat(20)}</p>`;
const TEXT = 'The river is clean again, and people swim in it. '.repeat(20);

/** Plain nodemailer with a connection pool. It gets messages as fast as it accepts them. */
async function plain({ sink, connections, plain: count }) {
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port: sink.port,
    ignoreTLS: true,
    pool: true,
    maxConnections: connections,
    maxMessages: Infinity,
  });
  const before = process.cpuUsage();
  const begin = performance.now();
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (sent < count) {
        sent += 1;
        const to = `plain-${sent}@example.org`;
        await transport.sendMail({ from: 'bench@example.org', to, subject: 'News', html: HTML, text: TEXT });
      }
    }),
  );
  const seconds = (performance.now() - begin) / 1_000;
  transport.close();
  const { user, system } = process.cpuUsage(before);
  return { 'messages/s': count / seconds, 'server µs': (user + system) / count };
}

/** @param hasRequests whether another client requests contacts from the first instance, before and during the broadcast */
async function broadcast(instances, place, { hasRequests = false } = {}) {
  const { url, sink, client, postmaster, recipients, connections, seconds } = place;
  const env = {
    MAIL_URL: `smtp://127.0.0.1:${sink.port}`,
    MAIL_CONCURRENCY: String(Math.ceil(connections / instances)),
    PUBLIC_URL: 'https://act.example.org',
  };
  let figures;
  const work = async ({ servers, organizationId, key, call }) => {
    await call('POST', 'organization.update-organization', {
      mailFrom: { name: 'Bench', address: 'bench@example.org' },
      postalAddress: '1 Quay',
    });
    const { listId } = await call('POST', 'list.create-list', { name: 'All' });
    const ids = await importContacts(client, servers[0].port, organizationId, key, recipients);
    for (let n = 0; n < ids.length; n += 1_000)
      await call('POST', 'list.add-contacts', { listId, contactIds: ids.slice(n, n + 1_000) });
    const { broadcastId } = await call('POST', 'broadcast.create-broadcast', {
      name: 'News',
      content: `Dear {{ contact.firstName | default: "friend" }},\n\n${TEXT}`,
      audience: { listIds: [listId] },
    });
    const path = `/v1/contact.get-contact?contactId=${ids[0]}&organizationId=${organizationId}`;
    const sendRequests = () => load(servers[0].port, { key, path }, { connections: 4, seconds });
    if (hasRequests) await sendRequests();
    const before = hasRequests ? await sendRequests() : undefined;

    // Waits for work that the import left behind. It is not part of the broadcast.
    await call('GET', 'history.get-checkpoint');
    await sink.count();
    const serversBefore = servers.map(({ pid }) => cpuOf(pid));
    const databaseBefore = cpuOfAll(postmaster);
    const begin = performance.now();
    await call('POST', 'broadcast.send-broadcast', { broadcastId });
    const started = performance.now();
    const memory = [];
    const during = hasRequests ? sendRequests() : undefined;
    while ((await call('GET', `broadcast.get-broadcast?broadcastId=${broadcastId}`)).status !== 'SENT') {
      memory.push(Math.max(...servers.map(({ pid }) => memoryOf(pid).now)));
      await sleep(POLL_MS);
    }
    const took = (performance.now() - started) / 1_000;
    const { messages, addresses } = await sink.count();
    if (messages !== recipients || addresses !== recipients)
      throw new Error(`Expected ${recipients} messages, but ${messages} arrived for ${addresses} addresses.`);
    const cpu = servers.reduce((sum, { pid }, n) => sum + cpuOf(pid) - serversBefore[n], 0);
    figures = {
      'messages/s': recipients / took,
      'server µs': cpu / recipients,
      'PostgreSQL µs': (cpuOfAll(postmaster) - databaseBefore) / recipients,
      'start s': (started - begin) / 1_000,
      MiB: Math.max(...memory),
      'MiB, 2nd ÷ 1st half': halves(memory),
      ...(during ? { 'p99, during ÷ before': (await during).p99 / before.p99 } : {}),
    };
  };
  await withProduct(url, instances, work, env);
  return figures;
}

function halves(values) {
  const middle = Math.ceil(values.length / 2);
  const most = (some) => Math.max(...some);
  return most(values.slice(middle)) / most(values.slice(0, middle));
}
