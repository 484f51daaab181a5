/**
 * The public site: how many petition pages and counts per second 256 readers get, compared with a node:http
 * server that sends the same bytes. Also how many forms per second 64 people submit during that, compared with
 * the same number of people without readers.
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
  readers: [256, 'concurrent readers; each waits for its page before the next request'],
  signers: [64, 'concurrent signers; each waits for the response before the next form'],
  rounds: [3, 'rounds per contender'],
  seconds: [5, 'seconds per round'],
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
        const signing = async (hasReaders) => {
          const figures = await sign(place, hasReaders);
          signed += figures.accepted;
          const { pages } = figures;
          return {
            'requests/s': figures.accepted / figures.seconds,
            ...(pages && { 'pages/s': pages.answered / pages.seconds, 'p99 ms of pages': pages.p99 }),
          };
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
            { name: 'forms without readers', measure: () => signing(false) },
            { name: 'forms with readers', measure: () => signing(true) },
          ],
          rounds,
        );
        for (const name of Object.keys(paths)) {
          const ratio = result.ratio(name, `node:http, ${name}`, 'requests/s');
          bench.target(`${name} ÷ node:http with the same bytes`, ratio, { least: 0.5 });
        }
        const forms = result.ratio('forms with readers', 'forms without readers', 'requests/s');
        bench.target('forms with readers ÷ without', forms, { least: 0.9 });
        const { pendingSignatures } = await call('GET', `petition.get-petition?petitionId=${petitionId}`);
        // Each form has its own email address. Otherwise a later form would replace an earlier one.
        if (pendingSignatures !== signed)
          throw new Error(`${signed} forms were accepted, but ${pendingSignatures} signatures are pending.`);
        bench.note(`${signed} signatures were acknowledged, and all of them are pending confirmation.`);
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

/** Measures a separate process that serves the same bytes with the same headers. */
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

/** Measures forms. Each comes from another email address and another network. */
async function sign({ port, path, signers, readers, seconds }, hasReaders) {
  const page = await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  const [, token] = /name="token" value="([^"]+)"/.exec(page);
  // The site rejects forms that are sent faster than a person can type.
  await sleep(2_500);
  const agent = new http.Agent({ keepAlive: true, maxSockets: signers });
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  let accepted = 0;
  const person = async () => {
    while (performance.now() < end) {
      const form = new URLSearchParams({
        token,
        firstName: 'Ada',
        email: `p${randomInt(2 ** 47)}@example.org`,
      });
      const status = await post(agent, port, `${path}/sign`, form.toString());
      if (status !== 200) throw new Error(`A form returned ${status}.`);
      accepted += 1;
    }
  };
  const reading = hasReaders ? load(port, { path }, { connections: readers, seconds }) : undefined;
  await Promise.all(Array.from({ length: signers }, person));
  const took = (performance.now() - begin) / 1_000;
  const pages = await reading;
  agent.destroy();
  return { accepted, seconds: took, pages };
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
