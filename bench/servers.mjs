import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The built product as processes, called over HTTP. */

const program = (name) => fileURLToPath(new URL(`../dist/src/${name}.js`, import.meta.url));

/** @returns the environment of instances and command line on this database. */
export function environmentOf(url) {
  return { ...process.env, DATABASE_URL: url, ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') };
}

/** Calls operations on the ports in turn. @returns `data` of the answer; rejects any other status than `expected`. */
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

/** @returns a new organization and a key of it that no rate limit slows down. */
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
  if (status !== 0) throw new Error(`The command line failed: ${args.join(' ')}`);
  return JSON.parse(text);
}

export async function startServer(env) {
  const child = spawn(process.execPath, [program('main')], {
    env: { ...env, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { message, port } = JSON.parse(line);
    if (message !== 'listening') continue;
    child.stdout.resume();
    return { port, stop };
  }
  throw new Error('The server ended before it listened.');
}
