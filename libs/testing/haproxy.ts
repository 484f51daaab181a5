import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from './ports.js';
import { ServerProgram } from './server-program.js';

/** Columns of haproxy's statistics (management guide, section 9.1). */
const CURRENT_SESSIONS = 4;
const STATUS = 17;

export type Haproxy = {
  origin: string;
  /** Sends no new requests to the instance with this index. Resolves when its running requests have ended. */
  drain(instance: number): Promise<void>;
  /** Sends requests to the instance again. */
  admit(instance: number): Promise<void>;
  /** Whether the last health check found the instance ready. */
  isReady(instance: number): Promise<boolean>;
  remove(): Promise<void>;
};

/**
 * Starts a haproxy in front of instances of the product, configured as in production. It sends requests in turn to the instances that
 * are ready according to `/health/ready`.
 *
 * @param program the path of haproxy: `findProgram('haproxy')`
 * @param ports of the instances on 127.0.0.1, which may start later
 */
export async function startHaproxy(program: string, ports: readonly number[]): Promise<Haproxy> {
  const directory = await mkdtemp(join(tmpdir(), 'haproxy-'));
  const [port, adminPort] = [await findFreePort(), await findFreePort()];
  const file = join(directory, 'haproxy.cfg');
  const servers = ports.map((each, n) => `  server instance-${n + 1} 127.0.0.1:${each} check`);
  await writeFile(
    file,
    `global
  stats socket ipv4@127.0.0.1:${adminPort} level admin
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  retries 3
  option redispatch
listen api
  bind 127.0.0.1:${port}
  balance roundrobin
  option httpchk GET /health/ready
  default-server inter 500ms fall 2 rise 1
${servers.join('\n')}
`,
  );
  const server = new ServerProgram(program, ['-db', '-q', '-f', file], port);
  await server.start();
  const order = async (text: string) => {
    const socket = connect(adminPort, '127.0.0.1').setEncoding('utf8');
    socket.write(`${text}\n`);
    let answer = '';
    for await (const part of socket) answer += part as string;
    return answer;
  };
  const setState = (instance: number, state: 'drain' | 'ready') =>
    order(`set server api/instance-${instance + 1} state ${state}`);
  const column = async (instance: number, index: number) => {
    const rows = (await order('show stat')).split('\n').map((line) => line.split(','));
    return rows.find(([proxy, name]) => proxy === 'api' && name === `instance-${instance + 1}`)?.[index];
  };
  return {
    async drain(instance) {
      await setState(instance, 'drain');
      while ((await column(instance, CURRENT_SESSIONS)) !== '0') await sleep(20);
    },
    admit: async (instance) => void (await setState(instance, 'ready')),
    isReady: async (instance) => (await column(instance, STATUS)) === 'UP',
    origin: `http://127.0.0.1:${port}`,
    async remove() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
