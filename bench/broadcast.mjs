/**
 * A broadcast through one and two instances to a mail server in its own process, compared with plain nodemailer on as many
 * connections: messages per second, CPU time of the servers and PostgreSQL, memory, and response times during the broadcast.
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
  recipients: [100_000, 'of a broadcast'],
  connections: [10, 'to the mail server, of all instances together'],
  plain: [20_000, 'messages that plain nodemailer sends in a round'],
  rounds: [3, 'of each contender'],
  seconds: [5, 'of requests, at rest and beside a broadcast'],
};

const LOOK_MS = 250;

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
        { name: '1 instance, asked meanwhile', measure: () => broadcast(1, place, { isAsked: true }) },
      ];
      const { ratio, values } = await bench.measure('broadcast', contenders, rounds);
      for (const name of ['1 instance', '2 instances']) {
        bench.reach(`${name} ÷ plain nodemailer`, ratio(name, 'plain nodemailer', 'messages/s'), {
          least: 0.5,
        });
        bench.reach(`${name}: memory, its second half ÷ first`, values(name, 'MiB ÷ before'), { most: 1.1 });
      }
      const asked = '1 instance, asked meanwhile';
      bench.reach('p99 of get-contact meanwhile ÷ at rest', values(asked, 'p99 ÷ at rest'), { most: 2 });
      bench.note('Each recipient is in the mail server exactly once.');
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

/** Plain nodemailer with a connection pool, which gets messages as fast as it accepts them. */
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

/** @param isAsked whether another client requests contacts from the first instance, before and during the broadcast */
async function broadcast(instances, place, { isAsked = false } = {}) {
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
    const ask = () => load(servers[0].port, { key, path }, { connections: 4, seconds });
    if (isAsked) await ask();
    const rest = isAsked ? await ask() : undefined;

    // Waits for remaining work of the import, which is not part of the broadcast.
    await call('GET', 'history.get-checkpoint');
    await sink.count();
    const serversBefore = servers.map(({ pid }) => cpuOf(pid));
    const databaseBefore = cpuOfAll(postmaster);
    const begin = performance.now();
    await call('POST', 'broadcast.send-broadcast', { broadcastId });
    const started = performance.now();
    const memory = [];
    const asking = isAsked ? ask() : undefined;
    while ((await call('GET', `broadcast.get-broadcast?broadcastId=${broadcastId}`)).status !== 'SENT') {
      memory.push(Math.max(...servers.map(({ pid }) => memoryOf(pid).now)));
      await sleep(LOOK_MS);
    }
    const took = (performance.now() - started) / 1_000;
    const { messages, addresses } = await sink.count();
    if (messages !== recipients || addresses !== recipients)
      throw new Error(
        `${recipients} should have got it: ${messages} messages came, to ${addresses} addresses.`,
      );
    const cpu = servers.reduce((sum, { pid }, n) => sum + cpuOf(pid) - serversBefore[n], 0);
    figures = {
      'messages/s': recipients / took,
      'server µs': cpu / recipients,
      'PostgreSQL µs': (cpuOfAll(postmaster) - databaseBefore) / recipients,
      'start s': (started - begin) / 1_000,
      MiB: Math.max(...memory),
      'MiB ÷ before': halves(memory),
      ...(asking ? { 'p99 ÷ at rest': (await asking).p99 / rest.p99 } : {}),
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
