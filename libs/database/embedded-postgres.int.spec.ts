import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { eventually, findFreePort } from '#libs/testing';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from './embedded-postgres.js';
import { restoreLinks } from './embedded-postgres-programs.js';
import { longDescribe, longIt, someOf } from '../../test/length.js';

describe('embedded PostgreSQL', () => {
  /**
   * One cluster, in a directory that it created, for all tests that do not need a new one. Each test leaves
   * it stopped.
   */
  let shared: string;
  let directory: string;
  let started: EmbeddedPostgres[];
  let temporary: string[];

  beforeAll(async () => {
    temporary = [];
    shared = join(await makeDirectory(), 'made', 'here');
    await (await startEmbeddedPostgres({ directory: shared, log: () => undefined })).stop();
  });

  beforeEach(() => {
    directory = shared;
    started = [];
  });

  afterEach(async () => {
    for (const postgres of started) await postgres.stop();
  });

  afterAll(async () => {
    for (const path of temporary) await rm(path, { recursive: true, force: true });
  });

  longIt('keeps its data across a restart, and grants the role nothing but its database', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    expect(await serverProcess()).toBeUndefined();

    const second = await start();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    const [role] = await query(
      second.url,
      'SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user',
    );
    expect(role).toEqual({ rolsuper: false, rolcreaterole: false, rolcreatedb: false });
  });

  describe('its directory', () => {
    const isRoot = process.getuid?.() === 0;
    const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;
    const PRIVATE = isRoot ? 0o710 : 0o700;

    it('is accessible only to its owner and the user of PostgreSQL, without special privileges', async () => {
      await start();
      const data = await stat(join(directory, 'postgres/data'));
      for (const path of [directory, join(directory, 'postgres')]) {
        expect([path, await modeOf(path)]).toEqual([path, PRIVATE]);
        const { uid, gid } = await stat(path);
        expect([uid, gid]).toEqual([process.getuid!(), isRoot ? data.gid : process.getgid!()]);
      }
      expect(data.mode & 0o777).toBe(0o700);
      if (process.platform !== 'linux') return;
      const status = await readFile(`/proc/${await serverProcess()}/status`, 'utf8');
      expect(/^CapEff:\t0+$/m.test(status)).toBe(true);
      if (!isRoot) return;
      const nobody = spawn('ls', [directory], { uid: 65_534, gid: 65_534, stdio: 'ignore', cwd: '/' });
      expect((await once(nobody, 'exit'))[0]).not.toBe(0);
    });

    longIt('is closed if an earlier version left it open, and keeps its data', async () => {
      directory = await makeDirectory();
      const first = await start();
      await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
      await first.stop();
      await chmod(directory, 0o755);
      await chmod(join(directory, 'postgres'), 0o711);
      if (isRoot) for (const path of ['', 'postgres']) await chown(join(directory, path), 0, 0);
      await writeFile(join(directory, 'encryption-key'), '');
      const { url } = await start();
      expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
      expect([await modeOf(directory), await modeOf(join(directory, 'postgres'))]).toEqual([
        PRIVATE,
        PRIVATE,
      ]);
    });

    longDescribe('with other files', () => {
      let other: string;
      beforeAll(async () => {
        other = await makeDirectory();
        await writeFile(join(other, 'other'), '');
        await chmod(other, 0o755);
      });
      beforeEach(() => {
        directory = other;
      });

      it('keeps its permissions, while the cluster in it is closed', async () => {
        await start();
        expect([await modeOf(directory), await modeOf(join(directory, 'postgres'))]).toEqual([
          0o755,
          PRIVATE,
        ]);
      });

      it('allows the role to create databases, and skips fsync, if the options say so', async () => {
        const { url } = await start({ createDatabases: true, isForTests: true });
        await expect(query(url, 'CREATE DATABASE another')).resolves.toEqual([]);
        await eventually(async () => {
          expect(await query(url, `SELECT current_setting('fsync') AS value`)).toEqual([{ value: 'off' }]);
        });
      });
    });

    longIt(
      'stays open if it is shared, loses the remains of a killed creation, and gets one cluster and one server from two concurrent starts',
      async () => {
        directory = await makeDirectory();
        await chmod(directory, 0o1777);
        const killed = spawn('true');
        await once(killed, 'exit');
        await mkdir(join(directory, `postgres.draft-${killed.pid}-abcdef/data/base`), { recursive: true });
        const [one, two] = await Promise.all([start(), start()]);
        expect(two.url).toBe(one.url);
        expect([await modeOf(directory), await modeOf(join(directory, 'postgres'))]).toEqual([
          0o1777,
          PRIVATE,
        ]);
        await one.stop();
        expect(await query(two.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
        await two.stop();
        expect(await serverProcess()).toBeUndefined();
        expect(await readdir(directory)).toEqual(['postgres']);
      },
    );
  });

  it('is durable, uses page checksums, sorts by code point and knows letters beyond ASCII', async () => {
    const { url } = await start();
    expect(await query(url, 'SELECT inet_server_addr() AS network')).toEqual([{ network: null }]);
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums']) {
      expect(await query(url, `SELECT current_setting('${setting}') AS value`)).toEqual([{ value: 'on' }]);
    }
    expect(await query(url, `SELECT lower('É') AS lower, 'Z' < 'a' AS "byCodePoint"`)).toEqual([
      { lower: 'é', byCodePoint: true },
    ]);
  });

  longIt(
    'stops when the last two users leave together, and survives overlapping starts and stops',
    async () => {
      const [one, two] = await Promise.all([start(), start()]);
      await Promise.all([one.stop(), two.stop()]);
      expect(await serverProcess()).toBeUndefined();

      const usesAndLeaves = async (turn: number) => {
        await sleep(turn * 37);
        const postgres = await start();
        await query(postgres.url, 'SELECT 1');
        await postgres.stop();
      };
      await Promise.all(Array.from({ length: 20 }, (_, turn) => usesAndLeaves(turn)));
      expect(await serverProcess()).toBeUndefined();
    },
  );

  longIt('stays up for a client that only connects', async () => {
    const postgres = await start();
    const client = new Client(postgres.url);
    await client.connect();
    await postgres.stop();
    await expect(client.query('SELECT 1')).resolves.toBeDefined();
    await client.end();
    // Now the last user, it stops the server.
    await (await start()).stop();
    expect(await serverProcess()).toBeUndefined();
  });

  longIt('a forced stop closes open connections, but leaves the server to another user', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    const client = new Client(one.url);
    client.on('error', () => undefined);
    await client.connect();
    await one.stop(true);
    await expect(client.query('SELECT 1')).resolves.toBeDefined();
    await two.stop(true);
    expect(await serverProcess()).toBeUndefined();
  });

  it('recovers at the same address with every commit after kill -9', async () => {
    const { url } = await start();
    await query(url, 'CREATE TABLE survivor AS SELECT 42 AS answer');
    process.kill((await serverProcess())!, 'SIGKILL');
    await eventually(async () => {
      expect(await query(url, 'SELECT answer FROM survivor')).toEqual([{ answer: 42 }]);
    });
  });

  it.each(
    someOf([
      ['names the process of another program', `${process.pid}\n/elsewhere\n1\n1\n\n127.0.0.1\n`],
      ['names a process that has ended', '4194303\n/elsewhere\n1\n1\n\n127.0.0.1\n'],
      ['is empty, as after a power failure', ''],
    ]),
  )('starts although postmaster.pid %s', async (_, content) => {
    const file = join(directory, 'postgres/data/postmaster.pid');
    await writeFile(file, content, { flag: 'wx' });
    // An empty file counts as abandoned only after a few seconds.
    await utimes(file, new Date(0), new Date(0));
    expect(await query((await start()).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('is reached through 127.0.0.1 if it cannot have a socket', async () => {
    const data = join(directory, 'postgres/data');
    const port = await findFreePort();
    await writeFile(join(data, 'postmaster.opts'), `postgres "-c" "port=${port}"\n`);
    await mkdir(join(data, `.s.PGSQL.${port}`));
    const { url } = await start();
    expect(new URL(url).port).toBe(String(port));
    expect(await query(url, 'SELECT host(inet_server_addr()) AS address')).toEqual([
      { address: '127.0.0.1' },
    ]);
  });

  longIt('uses another port if its own is taken', async () => {
    const first = await start();
    await first.stop();
    const squatter = createServer().listen(Number(new URL(first.url).port), '127.0.0.1');
    await once(squatter, 'listening');
    const second = await start();
    squatter.close();
    expect(second.url).not.toBe(first.url);
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('restores missing links between libraries, even concurrently', async () => {
    directory = await makeDirectory();
    const installed = dirname(
      dirname(
        createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`),
      ),
    );
    const copy = join(directory, 'package');
    await mkdir(join(copy, 'native/lib'), { recursive: true });
    await cp(join(installed, 'native/pg-symlinks.json'), join(copy, 'native/pg-symlinks.json'));
    const text = await readFile(join(copy, 'native/pg-symlinks.json'), 'utf8');
    const links = JSON.parse(text) as { source: string; target: string }[];
    for (const { source } of links) await writeFile(join(copy, source), source);

    await Promise.all([restoreLinks(copy), restoreLinks(copy), restoreLinks(copy)]);
    await unlink(join(copy, links[0]!.target));
    await restoreLinks(copy);

    for (const { source, target } of links) {
      expect(await readFile(join(copy, target), 'utf8')).toBe(source);
    }
  });

  it('leaves existing links alone', async () => {
    directory = await makeDirectory();
    await mkdir(join(directory, 'native'));
    await writeFile(
      join(directory, 'native/pg-symlinks.json'),
      JSON.stringify([{ source: 'native/a', target: 'native/b' }]),
    );
    await symlink('somewhere', join(directory, 'native/b'));
    await chmod(join(directory, 'native'), 0o555);
    await expect(restoreLinks(directory)).resolves.toBeUndefined();
    await chmod(join(directory, 'native'), 0o755);
  });

  async function makeDirectory(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'embedded-postgres-'));
    temporary.push(path);
    // As root, the cluster belongs to another user, who needs access.
    await chmod(path, 0o711);
    return path;
  }

  async function start(options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
    const postgres = await startEmbeddedPostgres({ directory, log: () => undefined, ...options });
    started.push(postgres);
    return postgres;
  }

  /** The server's process id. Undefined if it is not running. */
  async function serverProcess(): Promise<number | undefined> {
    const file = join(directory, 'postgres/data/postmaster.pid');
    const text = await readFile(file, 'utf8').catch(() => undefined);
    return text === undefined ? undefined : Number(text.split('\n')[0]);
  }
});

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new Client(url);
  // Killing the server breaks the connection as well as the query.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
