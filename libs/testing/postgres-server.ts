import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPrograms, findSystemUser, findWayToRun } from '#libs/database';
import { killAtExit } from './kill-at-exit.js';
import { findFreePort } from './ports.js';

/** The modes of `pg_ctl stop`: fast rolls back running transactions, immediate is a crash that requires recovery. */
export type StopMode = 'fast' | 'immediate';

export type PostgresServer = {
  /** Its files are in `data`. */
  directory: string;
  port: number;
  /** For the superuser. No password is required. */
  url: string;
  /** For a role that is not a superuser, but may create databases. */
  applicationUrl: string;
  stop(mode: StopMode): Promise<void>;
  /** Starts it again on the same port. Resolves when it accepts connections. */
  start(environment?: { [name: string]: string }): Promise<void>;
  isRunning(): Promise<boolean>;
  /** Its log so far. */
  readLog(): Promise<string>;
  /** Sends SIGSTOP to all its processes. Connections stay open and new ones are accepted, but it does not respond. */
  freeze(): Promise<void>;
  resume(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
};

type StartPostgresOptions = {
  directory?: string;
  settings?: { [name: string]: string | number };
  initdb?: readonly string[];
  replicaOf?: PostgresServer;
};

/**
 * Starts a separate PostgreSQL cluster that a test can stop, crash and freeze, with the programs that the product embeds. If the tests
 * run as root, it runs as the system user "postgres".
 *
 * @param directory an empty directory that other users can enter; by default, a new temporary one
 * @param replicaOf a stopped server. The new one is then its streaming replica, a hot standby.
 * @param initdb options for initdb
 */
export async function startPostgres({
  directory,
  settings = {},
  replicaOf,
  initdb = [],
}: StartPostgresOptions = {}): Promise<PostgresServer> {
  const home = directory ?? (await mkdtemp(join(tmpdir(), 'postgres-')));
  await chmod(home, 0o711);
  const programs = await findPrograms();
  const account = process.getuid?.() === 0 ? await findSystemUser() : undefined;
  const run = await findWayToRun(account, programs, home);
  const data = join(home, 'data');
  const log = join(data, 'server.log');
  const ownFolder = async (path: string) => {
    await mkdir(path, { mode: 0o700 });
    if (account) await chown(path, account.uid, account.gid);
  };
  await ownFolder(data);
  if (replicaOf) {
    await run('cp', ['-a', `${join(replicaOf.directory, 'data')}/.`, data]);
    await run('touch', [join(data, 'standby.signal')]);
  } else {
    // Another version of PostgreSQL cannot start it.
    const { mtimeMs } = await stat(programs.postgres);
    const model = await newCluster([programs.postgres, `${mtimeMs}`, ...initdb], async (path) => {
      await ownFolder(path);
      const cluster = ['-D', path, '--username=postgres', '--auth=trust', '--encoding=UTF8', '-N', ...initdb];
      await run(programs.initdb, cluster);
      // Single-user mode needs no port.
      const single = ['--single', '-c', 'exit_on_error=on', '-D', path, 'postgres'];
      await run(programs.postgres, single, 'CREATE ROLE advocacy LOGIN CREATEDB\n');
    });
    await run('cp', ['-a', `${model}/.`, data]);
  }

  const port = await findFreePort();
  const options = Object.entries({
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    // Data would be lost only if the machine crashed.
    fsync: 'off',
    ...(replicaOf && { primary_conninfo: `host=127.0.0.1 port=${replicaOf.port} user=postgres` }),
    ...settings,
  }).map(([name, value]) => `-c ${name}='${value}'`);

  const processId = async () => {
    const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
    return text === '' ? undefined : Number(text.split('\n', 1)[0]);
  };
  // Only the postmaster starts new processes, so it is stopped first and continued last.
  const send = async (signal: NodeJS.Signals) => {
    const postmaster = await processId();
    if (postmaster === undefined) return;
    const listed = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8');
    const others = listed.trim().split(' ').filter(Boolean).map(Number);
    for (const id of signal === 'SIGCONT' ? [...others, postmaster] : [postmaster, ...others])
      kill(id, signal);
  };

  let known: number | undefined;
  const release = killAtExit(() => void (known !== undefined && kill(known, 'SIGQUIT')));

  const server: PostgresServer = {
    directory: home,
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    applicationUrl: `postgres://advocacy@127.0.0.1:${port}/postgres`,
    async stop(mode) {
      await run(programs.pg_ctl, ['stop', '-D', data, '--silent', '--wait', `--mode=${mode}`]);
      known = undefined;
    },
    async start(environment = {}) {
      const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
      const start = [programs.pg_ctl, 'start', '-D', data, '--silent', '--wait', '--log', log];
      await run('env', [...variables, ...start, '--options', options.join(' ')]);
      known = await processId();
    },
    isRunning: () =>
      run(programs.pg_ctl, ['status', '-D', data]).then(
        () => true,
        () => false,
      ),
    readLog: () => readFile(log, 'utf8'),
    freeze: () => send('SIGSTOP'),
    resume: () => send('SIGCONT'),
    async remove() {
      await send('SIGCONT');
      if (await server.isRunning()) await server.stop('immediate');
      release();
      await rm(directory === undefined ? home : data, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/**
 * The data directory of a cluster that was never started. Copying it takes a tenth of the time of creating it. It is deleted
 * with the temporary directory of the test run.
 *
 * @param about what makes it differ from others
 * @param create creates the cluster in the directory, which does not exist yet
 */
async function newCluster(
  about: readonly string[],
  create: (path: string) => Promise<void>,
): Promise<string> {
  const digest = createHash('sha256').update(JSON.stringify(about)).digest('hex');
  const model = join(tmpdir(), `postgres-model-${digest.slice(0, 12)}`);
  if (existsSync(model)) return model;
  const own = `${model}-${randomBytes(4).toString('hex')}`;
  await create(own);
  // Another process may have been faster.
  await rename(own, model).catch(() => undefined);
  return existsSync(model) ? model : own;
}

/** Ignores processes that have already exited. */
function kill(processId: number, signal: NodeJS.Signals): void {
  try {
    process.kill(processId, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
