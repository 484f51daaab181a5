/**
 * How the rebuild of a large projection affects clients. Several callers create contacts and sign a petition before, during and after
 * it.
 */
import http from 'node:http';
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { openDatabase } from '../dist/libs/database/index.js';
import { EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { caller, cli, environmentOf, makeOrganization, startServer } from './servers.mjs';

export const options = {
  contacts: [500_000, 'contacts in the projection'],
  callers: [8, 'concurrent callers that create contacts and sign'],
};

/** Contacts per append. */
const CHUNK = 1_000;

export async function run(bench) {
  const { contacts, callers } = bench.options;
  await bench.withDatabase(async (url) => {
    const env = environmentOf(url);
    const { organizationId, key } = await makeOrganization(env);
    const began = performance.now();
    await fill(url, env, organizationId, contacts);
    const servers = [await startServer(env), await startServer(env)];
    console.log(`${contacts} contacts created and projected in ${seconds(began)} s`);
    const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
    try {
      const call = caller(
        servers.map(({ port }) => port),
        agent,
        key,
      );
      const load = await startLoad(call, organizationId, callers);
      await sleep(10_000);
      report('before', load.take());
      const rebuilding = performance.now();
      await cli(env, 'projections', 'rebuild', 'contacts');
      console.log(`rebuilt in ${seconds(rebuilding)} s`);
      report('during', load.take());
      await sleep(10_000);
      report('after', load.take());
      await load.stop();
      const verifying = performance.now();
      const { differences } = await cli(env, 'projections', 'verify', 'contacts');
      console.log(`verified in ${seconds(verifying)} s: ${differences.length} differences`);
      if (differences.length > 0) throw new Error('The projection does not match the history.');
    } finally {
      agent.destroy();
      await Promise.all(servers.map(({ stop }) => stop()));
    }
  });
}

async function fill(url, env, organizationId, contacts) {
  const source = await openDatabase({ url, poolSize: 4, migrations: [] });
  const store = new EventStore(source, new Keyring(Buffer.from(env.ENCRYPTION_KEY, 'base64')));
  const metadata = { actor: { type: 'system', id: 'bench' }, requestId: 'bench' };
  for (let made = 0; made < contacts; made += CHUNK) {
    const writes = Array.from({ length: CHUNK }, (_, n) => {
      const streamId = uuidv7();
      const personal = {
        email: `person-${made + n}-${randomBytes(3).toString('hex')}@example.org`,
        city: 'Lyon',
      };
      const events = [{ type: 'ContactCreated', data: { subscribed: true }, personal }];
      return { streamType: 'contact', streamId, expectedVersion: 0, events, subjectId: streamId };
    });
    await store.append({ organizationId, metadata, writes });
  }
  await source.destroy();
}

/** Starts callers that create contacts and sign, one request after another. Ends the process if a request fails. */
async function startLoad(call, organizationId, callers) {
  const { petitionId } = await call('POST', 'petition.create-petition', { name: 'Save the river' });
  await call('POST', 'petition.publish-petition', { petitionId });
  let times = [];
  let person = 0;
  let running = true;
  const lanes = Array.from({ length: callers }, async (_, lane) => {
    while (running) {
      const email = `load-${(person += 1)}@example.org`;
      const start = performance.now();
      if (lane % 2) await call('POST', 'contact.create-contact', { organizationId, email });
      else await call('POST', 'petition.add-signature', { petitionId, contact: { email } });
      times.push(performance.now() - start);
    }
  });
  const ended = Promise.all(lanes);
  ended.catch((error) => {
    console.error(error);
    process.exit(1);
  });
  return {
    take() {
      const taken = times;
      times = [];
      return taken;
    },
    async stop() {
      running = false;
      await ended;
    },
  };
}

function report(when, times) {
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(0);
  console.log(
    `${when.padEnd(8)} ${String(times.length).padStart(7)} requests, all returned 200; ms: ` +
      `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`,
  );
}

function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(1);
}
