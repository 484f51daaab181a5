/**
 * The public site: pages of a petition and its count per second for 256 readers, compared with a node:http server that sends
 * the same bytes. Also the forms that 64 people submit during that, compared with as many without readers.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { fork } from 'node:child_process';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { load } from './load.mjs';
import { withProduct } from './servers.mjs';

export const options = {
  readers: [256, 'each awaits its page before the next'],
  signers: [64, 'each awaits the answer before the next form'],
  rounds: [3, 'of each contender'],
  seconds: [5, 'of one round'],
};

export async function run(bench) {
  const { rounds } = bench.options;
  await bench.withDatabase((url) =>
    withProduct(
      url,
      1,
      async ({ servers: [server], call }) => {
        const { petitionId, path } = await newPage(call);
        const place = { ...bench.options, port: server.port, path, petitionId };
        await sleep(2_000);
        let signed = 0;
        const signing = async (isRead) => {
          const figures = await sign(place, isRead);
          signed += figures.taken;
          return { 'requests/s': figures.taken / figures.seconds };
        };
        const paths = { page: path, 'count.json': `${path}/count.json` };
        const contenders = Object.entries(paths).flatMap(([name, address]) => [
          { name: `node:http, ${name}`, measure: () => plain(place, address) },
          { name, measure: () => read(place, server.port, address) },
        ]);
        const result = await bench.measure(
          'the public site',
          [
            ...contenders,
            { name: 'forms, nobody reads', measure: () => signing(false) },
            { name: 'forms beside readers', measure: () => signing(true) },
          ],
          rounds,
        );
        for (const name of Object.keys(paths)) {
          const ratio = result.ratio(name, `node:http, ${name}`, 'requests/s');
          bench.reach(`${name} ÷ node:http with the same bytes`, ratio, { least: 0.5 });
        }
        const beside = result.ratio('forms beside readers', 'forms, nobody reads', 'requests/s');
        bench.reach('forms beside readers ÷ without', beside, { least: 0.9 });
        const { pendingSignatures } = await call('GET', `petition.get-petition?petitionId=${petitionId}`);
        // A repeated form of the same person replaces the earlier one.
        if (pendingSignatures !== signed)
          throw new Error(`${signed} forms were accepted, but ${pendingSignatures} are pending`);
        bench.note(`${signed} signatures were answered, and each of them waits for its confirmation.`);
      },
      { TRUST_PROXY: '1', MAIL_URL: 'smtp://127.0.0.1:9' },
    ),
  );
}

async function newPage(call) {
  const fields = { name: `River ${randomInt(2 ** 40)}`, content: 'Our children swim there.\n\n'.repeat(40) };
  const { petitionId } = await call('POST', 'petition.create-petition', fields);
  const { url } = await call('POST', 'petition.publish-petition', { petitionId });
  return { petitionId, path: new URL(url).pathname };
}

async function read({ readers, seconds }, port, path) {
  const { answered, seconds: took, p50, p99 } = await load(port, { path }, { connections: readers, seconds });
  return { 'requests/s': answered / took, 'p50 ms': p50, 'p99 ms': p99 };
}

/** Serves the same bytes with the same headers from a separate process. */
async function plain(place, path) {
  const answer = await fetch(`http://127.0.0.1:${place.port}${path}`);
  const body = await answer.text();
  const kept = ['content-type', 'content-security-policy', 'cache-control', 'referrer-policy'];
  const headers = Object.fromEntries(
    kept.map((name) => [name, answer.headers.get(name)]).filter(([, value]) => value),
  );
  const child = fork(fileURLToPath(new URL('./plain-server.mjs', import.meta.url)));
  try {
    child.send({ body, headers });
    const [port] = await once(child, 'message');
    return await read(place, port, path);
  } finally {
    child.kill();
  }
}

/** Signers with their own address and network. */
async function sign({ port, path, signers, readers, seconds }, isRead) {
  const page = await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  const [, token] = /name="token" value="([^"]+)"/.exec(page);
  // Faster forms are treated as automated.
  await sleep(2_500);
  const agent = new http.Agent({ keepAlive: true, maxSockets: signers });
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  let taken = 0;
  const person = async () => {
    while (performance.now() < end) {
      const form = new URLSearchParams({
        token,
        firstName: 'Ada',
        email: `p${randomInt(2 ** 47)}@example.org`,
      });
      const status = await post(agent, port, `${path}/sign`, form.toString());
      if (status !== 303) throw new Error(`A form was answered ${status}.`);
      taken += 1;
    }
  };
  const reading = isRead ? load(port, { path }, { connections: readers, seconds }) : undefined;
  await Promise.all(Array.from({ length: signers }, person));
  const took = (performance.now() - begin) / 1_000;
  await reading;
  agent.destroy();
  return { taken, seconds: took };
}

function post(agent, port, path, body) {
  const part = () => randomInt(256);
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path,
        agent,
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          'Content-Length': Buffer.byteLength(body),
          'X-Forwarded-For': `10.${part()}.${part()}.${part()}`,
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
