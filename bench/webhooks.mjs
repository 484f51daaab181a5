/**
 * Webhooks: how many events per second one and two instances send to a webhook. Compared with plain Node.js requests to the same
 * receiver, with the same number in parallel. Also the delay from event to request at a thousand events per second.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { withProduct } from './servers.mjs';

export const options = {
  events: [20_000, 'events sent per round'],
  instances: [[1, 2], 'server processes'],
  rounds: [3, 'rounds per contender'],
  rate: [1_000, 'events per second while the delay is measured'],
  seconds: [10, 'seconds for which the delay is measured'],
};

/** Parallel requests per webhook. */
const PARALLEL_REQUESTS = 8;
/** Contacts per import request. Each is an event. */
const CONTACTS_PER_IMPORT = 100;

export async function run(bench) {
  const { events, instances, rounds, rate, seconds } = bench.options;
  process.env.WEBHOOK_ALLOW_PRIVATE = 'true';
  await bench.withDatabase(async (url) => {
    const nameOf = (count) => `${count} instance${count === 1 ? '' : 's'}`;
    const { ratio } = await bench.measure(
      'sent to one webhook',
      [
        { name: 'plain requests', measure: () => withReceiver((receiver) => plainly(receiver, events)) },
        ...instances.map((count) => ({
          name: nameOf(count),
          measure: () => withReceiver((receiver) => sent(url, count, receiver, events)),
        })),
      ],
      rounds,
    );
    const [one] = instances.map(nameOf);
    bench.target(`${one} ÷ plain requests`, ratio(one, 'plain requests', 'events/s'), { least: 0.25 });
    const delay = await bench.measure(
      `at ${rate} events per second`,
      [
        {
          name: 'from event to request',
          measure: () => withReceiver((receiver) => delayOf(url, receiver, { rate, seconds })),
        },
      ],
      rounds,
    );
    // An instance polls four times per second.
    bench.target('p99 ms from event to request', delay.values('from event to request', 'p99 ms'), {
      most: 1_000,
    });
    bench.note('Each event arrived at least once.');
  });
}

/** Calls `work` with a new receiver. `ask` resolves with its counts. */
async function withReceiver(work) {
  const child = fork(fileURLToPath(new URL('receiver.mjs', import.meta.url)));
  const agent = new http.Agent({ keepAlive: true });
  try {
    const [port] = await once(child, 'message');
    return await work({ port, agent, ask: () => request({ port, agent, method: 'GET' }).then(JSON.parse) });
  } finally {
    agent.destroy();
    child.kill();
    await once(child, 'exit');
  }
}

async function plainly({ port, agent, ask }, events) {
  const body = JSON.stringify({
    type: 'ContactCreated',
    occurredAt: new Date(),
    data: { text: 'x'.repeat(400) },
  });
  const begun = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < events) {
      const headers = { 'webhook-id': String(next++), 'content-type': 'application/json' };
      await request({ port, agent, method: 'POST', headers, body });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_REQUESTS }, worker));
  const { events: arrived } = await ask();
  return { 'events/s': arrived / ((performance.now() - begun) / 1_000) };
}

/** Measures how fast existing events are sent. */
async function sent(url, instances, receiver, events) {
  let figures;
  await withProduct(url, instances, async ({ servers, key, call }) => {
    const webhook = await newWebhook(call, receiver);
    await call('POST', 'webhook.pause-webhook', webhook);
    for (let n = 0; n < events; n += CONTACTS_PER_IMPORT) await importContacts(servers[0].port, key, n);
    await call('POST', 'webhook.resume-webhook', webhook);
    const begun = performance.now();
    await arrival(receiver, events);
    figures = { 'events/s': events / ((performance.now() - begun) / 1_000) };
    const { requests } = await receiver.ask();
    Object.assign(figures, { 'requests/event': requests / events });
  });
  return figures;
}

async function delayOf(url, receiver, { rate, seconds }) {
  let figures;
  await withProduct(url, 1, async ({ servers, key, call }) => {
    await newWebhook(call, receiver);
    const { port } = servers[0];
    const imports = (rate * seconds) / CONTACTS_PER_IMPORT;
    const begun = performance.now();
    const all = [];
    for (let n = 0; n < imports; n += 1) {
      await sleep(Math.max(0, begun + n * ((1_000 * CONTACTS_PER_IMPORT) / rate) - performance.now()));
      all.push(importContacts(port, key, n * CONTACTS_PER_IMPORT));
    }
    await Promise.all(all);
    const took = (performance.now() - begun) / 1_000;
    const received = await arrival(receiver, imports * CONTACTS_PER_IMPORT);
    figures = {
      'p50 ms': received['p50 ms'],
      'p99 ms': received['p99 ms'],
      'max ms': received['max ms'],
      'events/s': (imports * CONTACTS_PER_IMPORT) / took,
    };
  });
  return figures;
}

async function newWebhook(call, { port }) {
  const { webhookId } = await call('POST', 'webhook.create-webhook', {
    url: `http://127.0.0.1:${port}/`,
    eventTypes: ['ContactCreated'],
  });
  // Waits until the webhook has a position.
  for (;;) {
    const { position } = await call('GET', `webhook.get-webhook?webhookId=${webhookId}`);
    if (position !== null) return { webhookId };
    await sleep(50);
  }
}

/** Waits until this many events have arrived. @throws Error if none arrives for a minute */
async function arrival({ ask }, events) {
  let [last, since] = [0, performance.now()];
  for (;;) {
    const received = await ask();
    if (received.events >= events) return received;
    if (received.events > last) [last, since] = [received.events, performance.now()];
    if (performance.now() - since > 60_000) throw new Error(`Only ${last} of ${events} events have arrived.`);
    // Polls slowly, because each response sorts all requests so far.
    await sleep(100);
  }
}

async function importContacts(port, key, first) {
  const lines = Array.from({ length: CONTACTS_PER_IMPORT }, (_, n) =>
    JSON.stringify({ email: `person-${first + n}@example.org`, firstName: 'Ada', lastName: 'Lovelace' }),
  );
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson' };
  const path = '/v1/contact.import-contacts?subscribed=true';
  const { data } = JSON.parse(await request({ port, path, method: 'POST', headers, body: lines.join('\n') }));
  if (data?.created !== CONTACTS_PER_IMPORT) throw new Error('Contacts were not imported.');
}

function request({ body, ...options }) {
  return new Promise((resolve, reject) => {
    const asked = http.request({ host: '127.0.0.1', path: '/', ...options }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve(text)).on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
