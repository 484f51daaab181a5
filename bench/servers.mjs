/** Runs the built product and the baselines as server processes. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.mjs';

const program = (name) => fileURLToPath(new URL(`../dist/bundle/${name}.js`, import.meta.url));

/** @returns the environment of servers and commands on this database */
export function environmentOf(url) {
  return {
    ...process.env,
    NODE_ENV: 'production',
    DATABASE_URL: url,
    ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    SHUTDOWN_DELAY: '0',
    // The daily self-check could start during a measurement.
    VERIFY_EVERY: '0',
  };
}

/**
 * Starts the product, with Redis if installed, and creates an organization. Calls `work` with `servers`, `env`, the organization's
 * `organizationId` and `key`, and `call`: see {@link caller}. Stops everything afterwards.
 *
 * @param more additional environment variables
 */
export async function withProduct(url, instances, work, more = {}) {
  const servers = [];
  const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
  const redis = await startRedis();
  try {
    const env = { ...environmentOf(url), ...(redis ? { REDIS_URL: redis.url } : {}), ...more };
    const { organizationId, key } = await makeOrganization(env);
    for (let n = 0; n < instances; n += 1) servers.push(await startServer(env));
    const call = caller(
      servers.map(({ port }) => port),
      agent,
      key,
    );
    await work({ servers, env, organizationId, key, call });
  } finally {
    agent.destroy();
    await Promise.all(servers.map(({ stop }) => stop()));
    await redis?.stop();
  }
}

/**
 * @returns a function that calls operations on the ports in turn. It resolves with `data` of the response, and rejects if the status is
 *   not `expected`.
 */
export function caller(ports, agent, key) {
  let turn = 0;
  return (method, operation, body, expected = 200) =>
    new Promise((resolve, reject) => {
      const port = ports[(turn += 1) % ports.length];
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const request = http.request(
        { port, host: '127.0.0.1', method, path: `/v1/${operation}`, headers, agent },
        (response) => {
          const chunks = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            if (response.statusCode !== expected) reject(new Error(`${response.statusCode}: ${text}`));
            else resolve(JSON.parse(text).data);
          });
        },
      );
      request.on('error', reject);
      request.end(body && JSON.stringify(body));
    });
}

/** Creates an organization. @returns its id and an API key without a rate limit */
export async function makeOrganization(env) {
  const { organizationId } = await cli(env, 'organization', 'create', '--name', 'Bench');
  const options = ['--organization', organizationId, '--rate-limit', 'unlimited'];
  return { organizationId, key: (await cli(env, 'api-key', 'create', ...options)).key };
}

export async function cli(env, ...args) {
  const child = spawn(process.execPath, [program('cli'), '--json', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`The command failed: ${args.join(' ')}`);
  return JSON.parse(text);
}

/** The Node.js options in `npm start`. */
const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const settings = scripts.start.split(' ').filter((word) => word.startsWith('--'));

/** Starts an instance of the product. @returns `port`, `pid` and `stop()` */
export function startServer(env) {
  return start(program('main'), { ...env, HOST: '127.0.0.1', PORT: '0' }, settings);
}

/** Starts a server in `baselines`. @returns `port`, `pid` and `stop()` */
export async function startBaseline(name, env = {}) {
  return start(await compile(`bench/baselines/${name}.ts`), {
    ...process.env,
    NODE_ENV: 'production',
    ...env,
  });
}

/** Starts a program. Resolves when it prints { "message": "listening", "port" }. */
async function start(file, env, settings = []) {
  const child = spawn(process.execPath, [...settings, file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = ending(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const { message, port } = JSON.parse(line);
    if (message !== 'listening') continue;
    child.stdout.resume();
    return { port, pid: child.pid, stop };
  }
  throw new Error(`${file} exited before it listened.`);
}

/** @returns `url` and `stop()`, or undefined if redis-server is not installed */
async function startRedis() {
  if (spawnSync('redis-server', ['--version']).error) return undefined;
  const port = await freePort();
  const options = [
    '--port',
    port,
    '--bind',
    '127.0.0.1',
    '--dir',
    tmpdir(),
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const child = spawn('redis-server', options.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = ending(child);
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('Ready to accept connections')) continue;
    child.stdout.resume();
    return { url: `redis://127.0.0.1:${port}`, stop };
  }
  throw new Error('redis-server exited before it was ready.');
}

/** Kills a child when this process exits. @returns a function that stops it earlier */
function ending(child) {
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit').finally(() => process.off('exit', kill));
  return async () => {
    child.kill('SIGTERM');
    await ended;
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
