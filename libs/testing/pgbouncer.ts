import { findSystemUser } from '#libs/database';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './ports.js';
import { ServerProgram } from './server-program.js';

export type PgBouncer = {
  /** The database's URL with PgBouncer's address. */
  url: string;
  /** Kills it, so that clients and PostgreSQL lose their connections. */
  stop(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
  remove(): Promise<void>;
};

/**
 * Starts a PgBouncer in transaction mode in front of a database that requires no password.
 *
 * @param program the path of pgbouncer: `findProgram('pgbouncer')`
 * @param poolSize maximum number of connections to the database. Further clients wait.
 * @param settings additional settings in pgbouncer.ini
 */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  poolSize = 20,
  settings: { [name: string]: string | number } = {},
): Promise<PgBouncer> {
  const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  await chmod(directory, 0o711);
  const target = new URL(databaseUrl);
  const port = await findFreePort();
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await findSystemUser();
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${target.hostname} port=${target.port} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
; By default, PgBouncer retries a failed login after 15 seconds. PostgreSQL may be back after one.
server_login_retry = 1
${Object.entries({ max_client_conn: 1_000, ...settings })
  .map(([name, value]) => `${name} = ${value}`)
  .join('\n')}
${isRoot ? 'user = postgres' : ''}
`,
  );
  const server = new ServerProgram(program, [file], port);
  await server.start();
  return {
    url: Object.assign(new URL(target), { host: `127.0.0.1:${port}`, search: '' }).href,
    stop: () => server.stop(),
    start: () => server.start(),
    async remove() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
