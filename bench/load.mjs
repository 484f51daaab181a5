/** Sends HTTP requests from a separate process: wrk if installed, otherwise autocannon. */
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuOf, cpuOfAll, quiet } from './processes.mjs';
import { interruption } from './rounds.mjs';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

/** @returns the load generator: `isWrk`, and `version`, its name with its version */
export function generator() {
  // With --version, wrk prints its usage and exits with an error.
  const { stdout } = spawnSync('wrk', ['--version'], { encoding: 'utf8' });
  const version = /^wrk \S*?([\d.]+)/.exec(stdout ?? '')?.[1];
  if (version) return { isWrk: true, version: `wrk ${version}` };
  const own = JSON.parse(readFileSync(file('../node_modules/autocannon/package.json'), 'utf8'));
  return { isWrk: false, version: `autocannon ${own.version}` };
}

const { isWrk } = generator();

/**
 * Sends requests over `connections` for a whole number of `seconds`. Each connection waits for its response before the next request.
 *
 * @param port of the server on 127.0.0.1
 * @param request `method`, `path`, `body` (JSON as text), `key` (an API key), `ids` (a file with one id per line). In the path and
 *   the body, `{id}` is replaced with the next id, in rotation, and `{n}` with a string unique to the request.
 * @returns `answered`: the number of responses, all with status 200. `sent`: the number of requests; at the end, one per connection
 *   may still be in flight. `seconds`: the duration. `p50` and `p99`: milliseconds. wrk corrects them for requests that a late
 *   response delayed (`stats_correct` in its source).
 * @throws if a response is missing or has another status
 */
export async function load(port, request, { connections, seconds }) {
  const { method = 'GET', path, body = '', key, ids = '' } = request;
  const url = `http://127.0.0.1:${port}`;
  const authorization = key ? `Bearer ${key}` : '';
  const prefix = randomBytes(5).toString('hex');
  const [program, ...args] = isWrk
    ? [
        ...[
          'wrk',
          '--threads',
          '1',
          '--connections',
          connections,
          '--duration',
          `${seconds}s`,
          '--timeout',
          '30s',
        ],
        ...['--script', file('load.lua'), url, '--', method, path, body, authorization, ids, prefix],
      ]
    : [
        ...[process.execPath, file('autocannon.mjs')],
        JSON.stringify({ url, method, path, body, authorization, ids, prefix, connections, seconds }),
      ];
  const { stdout } = await promisify(execFile)(program, args.map(String), { signal: interruption.signal });
  const result = JSON.parse(stdout.trim().split('\n').at(-1));
  const { refused, failed, answered } = result;
  if (refused + failed > 0) {
    const counts = `${refused} of ${answered} responses were errors, and ${failed} requests got no response`;
    throw new Error(`${method} ${path}: ${counts}; ${await exampleOf(url, request, prefix)}`);
  }
  // Without responses, there are no percentiles.
  return answered > 0 ? result : { ...result, p50: NaN, p99: NaN };
}

/** Sends such a request. @returns the response, for the error message */
async function exampleOf(url, { method = 'GET', path, body, key, ids }, prefix) {
  const id = ids ? readFileSync(ids, 'utf8').split('\n', 1)[0] : '';
  const fill = (text) => text?.replaceAll('{id}', id).replaceAll('{n}', prefix);
  const headers = { 'Content-Type': 'application/json', ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const response = await fetch(`${url}${fill(path)}`, { method, headers, body: fill(body) || undefined });
  return `a further request returned ${response.status}: ${await response.text()}`;
}

/**
 * A contender for `bench.measure`: requests to a server.
 *
 * @param server `port` and `pid`
 * @param prepare resolves with the `request` of a round and optionally `check(result)`, which throws if something was lost
 * @param settings `connections`; `seconds` per round; `warmUp`: seconds before all rounds (0: none); `postmaster`: the process id of
 *   PostgreSQL, or undefined if the server does not use it
 */
export function overHttp(name, server, prepare, { connections, seconds, warmUp = 0, postmaster }) {
  const send = async (duration) => {
    const { check, ...request } = await prepare();
    await quiet(postmaster);
    const before = [cpuOf(server.pid), cpuOfAll(postmaster)];
    const result = await load(server.port, request, { connections, seconds: duration });
    const [own, database] = [cpuOf(server.pid) - before[0], cpuOfAll(postmaster) - before[1]];
    await check?.(result);
    const { answered, p50, p99 } = result;
    return {
      'requests/s': answered / result.seconds,
      'p50 ms': p50,
      'p99 ms': p99,
      'server µs': own / answered,
      'PostgreSQL µs': database / answered,
    };
  };
  return { name, warmUp: () => (warmUp > 0 ? send(warmUp) : undefined), measure: () => send(seconds) };
}
