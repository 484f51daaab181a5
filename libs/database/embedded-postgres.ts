import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import {
  access,
  appendFile,
  link,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, type ClientConfig } from 'pg';
import {
  applicationRole,
  type Cluster,
  isAlive,
  openCluster,
  superuser,
} from './embedded-postgres-cluster.js';
import { findPrograms } from './embedded-postgres-programs.js';

export interface EmbeddedPostgres {
  /** For the application's role, which only owns its database. */
  url: string;
  /**
   * Stops using this PostgreSQL, and shuts it down if no one else is connected.
   *
   * @param isForced closes connections that are still open, unless another process uses this PostgreSQL.
   */
  stop(isForced?: boolean): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /**
   * The database's directory. It is created if missing. If it contains nothing else, only its owner can open it.
   */
  directory: string;
  log: (message: string) => void;
  /** Allows the application's role to create databases. For tests and benchmarks. */
  createDatabases?: boolean;
  /**
   * The server does not wait for the disk, and may lose everything if the machine crashes. It asks the application's
   * role for no password. It never vacuums, which would change plans at times that no test controls, and visit
   * hundreds of databases.
   */
  isForTests?: boolean;
}

interface Address {
  port: number;
  hasSocket: boolean;
}

interface Lease {
  client: Client;
  port: number;
}

/** How long a start may take: recovery after a crash may replay gigabytes of log. */
const startSeconds = 300;
/** How long to retry a failing start: the processes of a killed server may need a moment to end. */
const retrySeconds = 10;
/** How long a stop waits for connections that are closing. */
const farewellSeconds = 2;

/** The lines of the server's log if it could not create its socket. Other lines name sockets that work. */
const socketFailure = /could not create any Unix-domain sockets|lock file ".*\.s\.PGSQL/;

/** The advisory lock that means "in use". It is in the maintenance database. */
const leaseKey = 7_223_410_958;
const leaseName = 'embedded-postgres lease';

/**
 * A real PostgreSQL without installing one. Starts the server in `directory`, or attaches to it if it is running. The
 * server is detached, survives this process, listens only on 127.0.0.1 and in its directory, and is as durable as any
 * other. If it crashes while in use, it is restarted.
 *
 * Any number of processes may share a directory, and each may be killed at any time. No lock file can outlive its
 * owner:
 * - If two processes create the cluster, the first rename wins (createCluster).
 * - If two start PostgreSQL, its own postmaster.pid and shared memory admit only one. The other finds a running server
 *   and attaches.
 * - Each user holds a *shared* advisory lock on a connection: its lease. Stopping the server requires the lock
 *   *exclusively*. A process that attaches during a stop waits for its end and starts the server again. If a process
 *   is killed, its connection and lock end immediately.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { directory, log, createDatabases = false, isForTests = false } = options;
  // The parents keep their default mode, because PostgreSQL's own user must be able to pass through them.
  await mkdir(dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const cluster = await openCluster(await realpath(directory), await findPrograms(), log);

  let stopping: Promise<void> | undefined;
  let recovery: Promise<void> | undefined;
  let lease = await bringUp(cluster, log);
  const { port } = lease;
  const address = { port, hasSocket: await hasSocket(cluster, lease) };

  const watch = () => {
    lease.client.once('end', () => {
      if (!stopping) recovery = recover();
    });
  };
  const recover = async () => {
    log('The built-in PostgreSQL stopped unexpectedly. Restarting it');
    while (!stopping) {
      try {
        lease = await bringUp(cluster, log, address);
        const hasLostSocket = address.hasSocket && !(await hasSocket(cluster, lease));
        if (lease.port !== port || hasLostSocket) log('Its address has changed. Restart this process');
        return watch();
      } catch (error) {
        log(String(error));
        await sleep(1000);
      }
    }
  };
  const stop = async (isForced: boolean) => {
    await recovery;
    try {
      if (await isLastUser(lease.client, isForced)) {
        await cluster.run(cluster.programs.pg_ctl, ['stop', '-D', cluster.data, '--mode=fast', '--silent']);
        log('The built-in PostgreSQL stopped');
      }
    } finally {
      await lease.client.end().catch(() => undefined);
    }
  };

  watch();
  await letEndLog(cluster, port);
  if (createDatabases) await lease.client.query(`ALTER ROLE ${applicationRole} CREATEDB`);
  if (isForTests) {
    // Checking a password takes half of the CPU time of connecting, and tests connect thousands of times.
    const rules = [
      `local all ${applicationRole} trust`,
      `host all ${applicationRole} 127.0.0.1/32 trust`,
      'local all all scram-sha-256',
      'host all all 127.0.0.1/32 scram-sha-256',
    ];
    await writeFile(join(cluster.data, 'pg_hba.conf'), `${rules.join('\n')}\n`);
    await lease.client.query('ALTER SYSTEM SET fsync = off');
    await lease.client.query('ALTER SYSTEM SET full_page_writes = off');
    await lease.client.query('ALTER SYSTEM SET autovacuum = off');
    await lease.client.query('SELECT pg_reload_conf()');
  }
  const login = `${applicationRole}:${cluster.passwords.application}`;
  const socket = address.hasSocket ? `?host=${encodeURIComponent(cluster.data)}` : '';
  return {
    url: `postgres://${login}@127.0.0.1:${port}/${applicationRole}${socket}`,
    stop: (isForced = false) => (stopping ??= stop(isForced)),
  };
}

/**
 * Attaches to the cluster's server, and starts it if necessary. Waits for starts, stops and recovery.
 *
 * @param last where users of a server that has crashed expect the next one.
 */
async function bringUp(cluster: Cluster, log: (message: string) => void, last?: Address): Promise<Lease> {
  const begin = Date.now();
  let firstFailure: number | undefined;
  let withSocket = last?.hasSocket ?? hasRoomForSocket(cluster);
  for (;;) {
    const server = await findServer(cluster.data);
    if (server?.port) {
      const client = await attach(cluster, server.port);
      if (client) return { client, port: server.port };
    } else if (!server) {
      try {
        await startServer(cluster, last?.port ?? (await lastPort(cluster)), withSocket);
        log('The built-in PostgreSQL started');
        continue;
      } catch (error) {
        firstFailure ??= Date.now();
        // Not every file system has sockets, and the process id in a socket's lock file may belong to another process now.
        if (!last && socketFailure.test(String(error))) withSocket = false;
        if (Date.now() - firstFailure > retrySeconds * 1000) throw error;
      }
    }
    if (Date.now() - begin > startSeconds * 1000) {
      throw new Error(
        `PostgreSQL in ${cluster.data} is running, but has not accepted a connection for ${startSeconds} s.`,
      );
    }
    await sleep(100);
  }
}

/** Grants the application what `projections purge` needs. Grants on functions apply to one database only. */
async function letEndLog(cluster: Cluster, port: number): Promise<void> {
  const client = new Client({ ...loginOf(cluster, port), database: applicationRole });
  await client.connect();
  try {
    // One transaction with a lock: concurrent grants fail if several processes start together.
    await client.query(
      `SELECT pg_advisory_xact_lock(${leaseKey}); GRANT pg_checkpoint TO ${applicationRole};
       GRANT EXECUTE ON FUNCTION pg_switch_wal() TO ${applicationRole}`,
    );
  } finally {
    await client.end();
  }
}

/** Leases the server on this port. Returns undefined if it is not ready, is stopping, or is not ours. */
async function attach(cluster: Cluster, port: number): Promise<Client | undefined> {
  const { data } = cluster;
  const client = new Client({ ...loginOf(cluster, port), database: superuser });
  // A lost connection is handled at its end.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data: string; leased: boolean }>(
      `SELECT current_setting('data_directory') AS data, pg_try_advisory_lock_shared($1) AS leased`,
      [leaseKey],
    );
    // SCRAM proved that the server knows our password. The directory distinguishes the original from a copy.
    if (rows[0]?.data === data && rows[0].leased) return client;
  } catch {
    // Not ready, or not ours: the caller tries again.
  }
  await client.end().catch(() => undefined);
  return undefined;
}

function loginOf({ passwords }: Cluster, port: number): ClientConfig {
  return {
    host: '127.0.0.1',
    port,
    user: superuser,
    password: passwords.superuser,
    ssl: false,
    application_name: leaseName,
    keepAlive: true,
    connectionTimeoutMillis: 5000,
  };
}

async function isLastUser(client: Client, isForced: boolean): Promise<boolean> {
  try {
    // Release before requesting. Otherwise, of two processes leaving together, each would find the other's lease.
    await client.query('SELECT pg_advisory_unlock_shared($1)', [leaseKey]);
    const { rows } = await client.query<{ alone: boolean }>('SELECT pg_try_advisory_lock($1) AS alone', [
      leaseKey,
    ]);
    if (!rows[0]?.alone) return false;
    const end = Date.now() + farewellSeconds * 1000;
    while (!isForced && (await isUsed(client))) {
      if (Date.now() > end) return false;
      await sleep(50);
    }
    return true;
  } catch {
    // The connection broke: the server is down, or another process is stopping it.
    return false;
  }
}

/**
 * Whether anyone else is connected. Connections that hold, request or release a lease do not count: the lock covers
 * them.
 */
async function isUsed(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ used: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'client backend'
       AND pid <> pg_backend_pid() AND application_name <> $1) AS used`,
    [leaseName],
  );
  return rows[0]?.used ?? false;
}

async function startServer(
  { data, programs, run }: Cluster,
  port: number | undefined,
  withSocket: boolean,
): Promise<void> {
  const log = join(data, 'server.log');
  const settings = {
    port: port && (await isFree(port)) ? port : await findFreePort(),
    listen_addresses: '127.0.0.1',
    // A socket in /tmp would be open to every user of the machine. Only the server's own user can reach this one.
    unix_socket_directories: withSocket ? data : '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Logs events of the server, not errors of its clients: their details quote rows, and so personal data.
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    // The write-ahead log contains all data written, including that of people erased since. So its files are removed
    // after the next checkpoint instead of being recycled. A new file starts every hour, so that the last one is
    // removed too.
    wal_recycle: 'off',
    archive_timeout: '1h',
    checkpoint_timeout: '5min',
  };
  if (withSocket) await allowSocket(data);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  const start = ['start', '-D', data, '--silent', '--wait', `--timeout=${startSeconds}`, '--log', log];
  try {
    await run(programs.pg_ctl, [...start, '--options', options.join(' ')]);
  } catch (cause) {
    const lastLines = await readFile(log, 'utf8').then(
      (text) => text.trim().split('\n').slice(-8).join('\n'),
      () => '',
    );
    throw new Error(`The embedded PostgreSQL in ${data} does not start.\n${lastLines}`, { cause });
  }
}

/** Clusters that an earlier version created allow connections from 127.0.0.1 only. */
async function allowSocket(data: string): Promise<void> {
  const file = join(data, 'pg_hba.conf');
  const isAllowed = /^local\s/m.test(await readFile(file, 'utf8'));
  if (!isAllowed) await appendFile(file, '\nlocal all all scram-sha-256\n');
}

/**
 * Whether this process can connect through a socket in the cluster's directory. A round trip through it costs each side a
 * seventh less CPU time than one through 127.0.0.1. A server that was started without the socket has none.
 */
async function hasSocket(cluster: Cluster, { client, port }: Lease): Promise<boolean> {
  const { rows } = await client.query<{ folder: string }>(
    `SELECT current_setting('unix_socket_directories') AS folder`,
  );
  if (rows[0]?.folder !== cluster.data) return false;
  return access(socketOf(cluster, port), constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Linux allows 107 bytes, macOS 103. */
function hasRoomForSocket(cluster: Cluster): boolean {
  return Buffer.byteLength(socketOf(cluster, 65_535)) <= 103;
}

function socketOf({ data }: Cluster, port: number): string {
  return join(data, `.s.PGSQL.${port}`);
}

/** PostgreSQL keeps the options of its last start in postmaster.opts. */
async function lastPort({ data }: Cluster): Promise<number | undefined> {
  const options = await readFile(join(data, 'postmaster.opts'), 'utf8').catch(() => '');
  const port = /"port=(\d+)"/.exec(options)?.[1];
  return port === undefined ? undefined : Number(port);
}

/**
 * The running server according to postmaster.pid, at first without its port. PostgreSQL ignores a file whose
 * process has ended. It does not ignore a process id that now belongs to another process, as in a restarted
 * container, or an empty file after a power failure. This function removes these.
 */
async function findServer(data: string): Promise<{ port?: number } | undefined> {
  const file = join(data, 'postmaster.pid');
  const text = await readIfPresent(file);
  if (text === undefined) return undefined;
  const [processId, , , port] = text.split('\n');
  if (!processId) {
    const age = Date.now() - ((await stat(file).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age < retrySeconds * 500) return {};
    await removeStale(file, text);
    return undefined;
  }
  if (!isAlive(Number(processId))) return undefined;
  if (!(await isServerOf(Number(processId), data))) {
    await removeStale(file, text);
    return undefined;
  }
  return port ? { port: Number(port) } : {};
}

async function isServerOf(processId: number, data: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${processId}/cmdline`, 'utf8').catch(() => '');
    return commandLine.split('\0').includes(data);
  }
  const ps = promisify(execFile)('ps', ['-o', 'args=', '-p', String(processId)]);
  return ps.then(
    ({ stdout }) => stdout.includes(data),
    () => false,
  );
}

/**
 * Removes the file, and restores it if another process has replaced it since. Even if a server loses its file, its
 * shared memory keeps a second server away from the data.
 */
async function removeStale(file: string, content: string): Promise<void> {
  const aside = `${file}.stale-${process.pid}`;
  await rename(file, aside).catch(() => undefined);
  const taken = await readIfPresent(aside);
  if (taken !== undefined && taken !== content) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}

async function readIfPresent(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

async function isFree(port: number): Promise<boolean> {
  return listenBriefly(port).then(
    () => true,
    () => false,
  );
}

async function findFreePort(): Promise<number> {
  return listenBriefly(0);
}

async function listenBriefly(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const { port: given } = server.address() as AddressInfo;
      server.close(() => resolve(given));
    });
  });
}
