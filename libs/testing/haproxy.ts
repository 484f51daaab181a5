import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './ports.js';
import { ServerProgram } from './server-program.js';

export type Haproxy = { origin: string; remove(): Promise<void> };

/**
 * Starts a haproxy before instances of the product, as an operator would write it down: round robin among those
 * that say at `/health/ready` that they may have traffic.
 *
 * @param program the path of haproxy: `findProgram('haproxy')`
 * @param ports of the instances, on 127.0.0.1; they need not listen yet
 */
export async function startHaproxy(program: string, ports: readonly number[]): Promise<Haproxy> {
  const directory = await mkdtemp(join(tmpdir(), 'haproxy-'));
  const port = await findFreePort();
  const file = join(directory, 'haproxy.cfg');
  const servers = ports.map((each, n) => `  server instance-${n + 1} 127.0.0.1:${each} check`);
  await writeFile(
    file,
    `defaults
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
  return {
    origin: `http://127.0.0.1:${port}`,
    async remove() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
