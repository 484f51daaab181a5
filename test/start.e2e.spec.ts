import { existsSync } from 'node:fs';
import { access, cp, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { JsonLogger } from '#libs/operations';
import { startRedis } from '#libs/testing';
import { migrations } from '#migrations';
import { readConfig } from '../src/config/index.js';
import { contactsProjection } from '../src/contacts/index.js';
import { openRuntime, type Runtime } from '../src/server/index.js';
import {
  cli,
  createDirectory,
  Deployment,
  type Environment,
  eventually,
  Program,
  type Result,
  ServerProcess,
} from './processes.js';
import { command } from './commands.js';
import { Client, retryAfter } from './harness.js';
import { Visitor } from './people-in.js';
import { isLong, longIt } from './length.js';

const root = resolve(__dirname, '..');
const WELCOME = 'A demo organization has been created';
/** The newest contacts after the demo: those who signed by the printed command and on the petition's page. */
const DEMO = ['you', 'jana.signer', 'ivo.signer'].map((name) => `${name}@example.org`);

/** The details that lists can be searched and sorted by. All other personal data is encrypted. */
const SEARCHED = ['email', 'firstName', 'lastName', 'zip', 'city', 'country'];
const SEALED = ['bio', 'phone', 'mobile', 'address'];

/** The common prefix of all markers, for a fast first check. */
const MARK = 'qmark';
const COMMENT = `${MARK}-comment-of-the-person`;

function person(name: string): Record<string, string> {
  const details = [...SEARCHED, ...SEALED].map((detail) => [
    detail,
    `${MARK}-${name}-${detail.toLowerCase()}`,
  ]);
  return { ...Object.fromEntries(details), email: `${MARK}-${name}-email@files.example` };
}

/** The folders of PostgreSQL's data directory (`base`, `pg_wal`) whose files currently contain each marker. */
async function search(directory: string, markers: readonly string[]): Promise<Map<string, string[]>> {
  const data = join(directory, 'postgres', 'data');
  const found = new Map(markers.map((marker) => [marker, new Set<string>()]));
  let files = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Some files disappear during the search.
    const bytes = await readFile(path).catch(() => undefined);
    if (!bytes) continue;
    files += 1;
    if (!bytes.includes(MARK)) continue;
    const folder = path.slice(data.length + 1).split('/')[0]!;
    for (const marker of markers) if (bytes.includes(marker)) found.get(marker)!.add(folder);
  }
  expect(files).toBeGreaterThan(500);
  return new Map([...found].map(([marker, folders]) => [marker, [...folders].sort()]));
}

/** The same folders for every marker. */
function all(markers: readonly string[], ...folders: string[]): Map<string, string[]> {
  return new Map(markers.map((marker) => [marker, folders]));
}

/** A text with HTML entities decoded. */
const decoded = (text: string) =>
  text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

async function ready({ origin }: ServerProcess): Promise<any> {
  const response = await fetch(`${origin}/health/ready`);
  return { status: response.status, ...((await response.json()) as { data: object }).data };
}

describe('with DATABASE_URL', () => {
  let deployment: Deployment;
  beforeEach(async () => {
    deployment = await Deployment.create();
  });
  afterEach(() => deployment.stop());

  /** Expects a start to fail with status 1. @returns the lines of stderr. */
  async function refused(environment: Environment): Promise<string[]> {
    const server = new ServerProcess({ ...deployment.environment, ...environment });
    const { status, stderr } = await server.ended;
    expect(status).toBe(1);
    // Errors of the environment are reported before logging begins.
    const ends = server.log.filter(({ level }) => level === 'error' || level === 'fatal');
    if (server.log.length > 0) {
      expect(ends).toEqual([expect.objectContaining({ message: 'the server could not start' })]);
      expect(stderr).toContain(ends[0]!.reason);
    }
    return stderr.trimEnd().split('\n');
  }

  /** Opens the runtime in this process, like every start does. */
  function open(environment: Environment): Promise<Runtime> {
    const config = readConfig({ NODE_ENV: 'test', ...deployment.environment, ...environment });
    return openRuntime(config, new JsonLogger('silent'));
  }

  const newer = process.env.TEST_NEWER_NODE!;
  if (!existsSync(newer))
    console.log('No start on Node.js 24 is tried: `npm run test:nodes -- 24` installs it, and tries more.');
  (existsSync(newer) ? it : it.skip)('starts and stops on Node.js 24', async () => {
    const server = new ServerProcess(deployment.environment, undefined, undefined, undefined, newer);
    deployment.servers.push(server);
    await server.listening();
    expect(await ready(server)).toMatchObject({ database: 'ok' });
    expect((await server.end('SIGTERM')).status).toBe(0);
  });

  longIt('four parallel starts on an empty database all become ready, and migrate it once', async () => {
    const { source } = deployment.database;
    const schemas = await source.query<{ name: string }[]>(
      "SELECT quote_ident(nspname) AS name FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'",
    );
    for (const { name } of schemas) await source.query(`DROP SCHEMA ${name} CASCADE`);
    await source.query('CREATE SCHEMA public');

    const REDIS_URL = process.env.TEST_REDIS_URL!;
    const servers = await Promise.all([1, 2, 3, 4].map(() => deployment.startServer({ REDIS_URL })));
    for (const server of servers) {
      expect(await ready(server)).toMatchObject({ database: 'ok', redis: 'ok' });
      // The welcome text is only for the embedded mode.
      expect(server.stdout).not.toContain(WELCOME);
    }
    expect(await source.query('SELECT name FROM migrations ORDER BY id')).toHaveLength(migrations.length);
    // Each migration ran once, on any of the servers.
    const migrated = servers.flatMap(({ log }) =>
      log.flatMap((line) =>
        line.message === 'database migrations applied' ? (line.migrations as string[]) : [],
      ),
    );
    expect(migrated.sort()).toEqual(migrations.map(({ name }) => name).sort());
    expect(await source.query('SELECT FROM events')).toEqual([]);
  });

  it('prints one sentence on stderr for each invalid variable of the environment and .env, and no secret', async () => {
    const directory = await createDirectory();
    await writeFile(join(directory.path, '.env'), 'PORT=1\nLOG_LEVEL=loud\n');
    const environment = {
      DATABASE_URL: 'rubbish hunter2',
      ENCRYPTION_KEY: 'hunter3',
      REDIS_URL: 'http://:hunter4@x',
      PORT: 'abc',
    };
    const { status, stdout, stderr } = await new ServerProcess(environment, directory.path).ended;
    expect([status, stdout]).toEqual([1, '']);
    const lines = stderr.trimEnd().split('\n').sort();
    expect(lines.map((line) => line.split(' ')[0])).toEqual([
      'DATABASE_URL',
      'ENCRYPTION_KEY',
      'LOG_LEVEL',
      'PORT',
      'REDIS_URL',
    ]);
    expect(lines[2]).toBe('LOG_LEVEL must be one of: debug, info, warn, error, silent.');
    expect(stderr).not.toContain('hunter');
    await directory.remove();
  });

  it('rejects an ENCRYPTION_KEY other than the one the database was first used with', async () => {
    await (await open({})).close();
    const ENCRYPTION_KEY = Buffer.alloc(32, 8).toString('base64');
    await expect(open({ ENCRYPTION_KEY })).rejects.toThrow(
      /^ENCRYPTION_KEY is not the key that this database was first used with/,
    );
  });

  longIt(
    'rejects a SIGNING_KEY other than the one that signed, unless the previous one is named',
    async () => {
      await deployment.organization();
      await deployment.startServer();
      await eventually(async () => {
        const signed = await deployment.database.source.query(
          'SELECT FROM signed_notes WHERE note IS NOT NULL',
        );
        expect(signed).not.toEqual([]);
      });
      const SIGNING_KEY = Buffer.alloc(32, 8).toString('base64');
      expect(await refused({ SIGNING_KEY })).toEqual([
        expect.stringMatching(/SIGNING_KEY is not the key .* add the previous key to SIGNING_KEY_PREVIOUS/),
      ]);
      await deployment.startServer({ SIGNING_KEY, SIGNING_KEY_PREVIOUS: 'derived' });
    },
  );

  longIt(
    'waits for a database that accepts no writes yet, then logs when Redis disappears and returns, and warnings of libraries once',
    async () => {
      const { source } = deployment.database;
      const database = new URL(deployment.database.url).pathname.slice(1);
      const allowWrites = (are: boolean) =>
        // The pool may use a connection from when writes were off.
        source.query(
          `BEGIN READ WRITE; ALTER DATABASE ${database} SET default_transaction_read_only = ${are ? 'off' : 'on'}; COMMIT`,
        );
      await allowWrites(false);
      const redis = await startRedis();
      const REDIS_URL = redis.url.replace('//', '//:a-secret@');
      const server = new ServerProcess({ ...deployment.environment, REDIS_URL });
      deployment.servers.push(server);
      await eventually(() =>
        expect(server.log).toContainEqual(
          expect.objectContaining({
            message: 'database not available yet',
            reason: expect.stringContaining('PostgreSQL rejects writes'),
          }),
        ),
      );
      await allowWrites(true);
      await server.listening();
      expect(server.log.find(({ message }) => message === 'listening')).not.toHaveProperty('metricsPort');

      const ofRedis = () => server.log.filter(({ message }) => message.startsWith('Redis '));
      try {
        expect(await ready(server)).toMatchObject({ redis: 'ok' });
        redis.freeze();
        await eventually(() => expect(ofRedis()).toHaveLength(1));
        redis.resume();
        await eventually(() => expect(ofRedis()).toHaveLength(2));
      } finally {
        await redis.stop();
      }
      expect(ofRedis()).toMatchObject([
        { level: 'warn', message: expect.stringContaining('Redis is unavailable (it does not respond') },
        { level: 'info', message: 'Redis is available again: all instances share one rate limit' },
      ]);
      const { status, stdout, stderr } = await server.end('SIGTERM');
      expect([status, stderr]).toEqual([0, '']);
      expect(server.log.filter(({ message }) => message === 'library warning')).toEqual([
        expect.objectContaining({
          level: 'warn',
          text: expect.stringContaining('does not require a password'),
        }),
      ]);
      expect(stdout).not.toContain('a-secret');
    },
  );

  it('rejects an incomplete schema instead of failing each request', async () => {
    const { source } = deployment.database;
    const all = await source.query(
      `SELECT oid::regprocedure AS name FROM pg_proc WHERE proname = 'append_events'`,
    );
    for (const { name } of all) await source.query(`DROP FUNCTION ${name}`);
    await source.query('ALTER TABLE idempotency_keys RENAME fingerprint TO print');
    await expect(open({})).rejects.toThrow(
      /^The database schema is incomplete, .*Missing: column idempotency_keys\.fingerprint bytea, function append_events with the parameters of this version\./,
    );
  });

  longIt('reports once that Redis is not of the kind that REDIS_URL states', async () => {
    const [line, ...more] = await refused({ REDIS_URL: `${process.env.TEST_REDIS_URL!}?cluster=true` });
    expect(line).toMatch(
      /^The server could not start: REDIS_URL asks for a Redis Cluster, .* Set a single server/,
    );
    expect(more).toEqual([]);
  });

  it('reports a port in use, and the fix', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    expect(await refused({ PORT: String(port) })).toEqual([
      `The server could not start: port ${port} is already in use. Set PORT to a free port, or stop the program that listens on it.`,
    ]);
    squatter.close();
  });

  it.each([
    [
      'the database does not exist',
      (url: URL) => (url.pathname = '/nothing'),
      'database "nothing" does not exist',
    ],
    ['the role does not exist', (url: URL) => (url.username = 'nobody'), '"nobody"'],
  ])('reports that %s, without the password', async (_, change, words) => {
    const url = new URL(deployment.database.url);
    change(url);
    const message = await open({ DATABASE_URL: url.href }).then(
      () => 'it opened',
      (error: Error) => error.message,
    );
    expect(message).toMatch(/^The database in DATABASE_URL cannot be used: .*\.$/);
    expect(message).toContain(words);
    expect(message).not.toContain(`:${url.password}@`);
    // A short password may occur in any sentence.
    if (url.password.length > 8) expect(message).not.toContain(url.password);
  });
});

describe('embedded', () => {
  let directory: Awaited<ReturnType<typeof createDirectory>>;
  let DATA_DIR: string;
  beforeAll(async () => {
    directory = await createDirectory();
    DATA_DIR = directory.path;
  });
  afterAll(async () => {
    await server?.end('SIGKILL');
    await directory.remove();
  });

  const list = async ({ origin }: ServerProcess, key: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${origin}/v1/contact.list-contacts`, { headers });
    const { data } = (await response.json()) as { data: { email: string }[] };
    return data.map(({ email }) => email).slice(0, 3);
  };
  const postmasterFile = () => join(DATA_DIR, 'postgres/data/postmaster.pid');
  const postmaster = async () => {
    const [pid, , , port] = (await readFile(postmasterFile(), 'utf8')).split('\n');
    return { pid: Number(pid), port: Number(port) };
  };
  /** Checks the port, because the id of an unreaped zombie process still exists. */
  const isRunning = async (postgresPort: number) => {
    const socket = connect(postgresPort, '127.0.0.1');
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return connected;
  };
  const keyIn = (text: string) => /adv_[A-Za-z0-9]{8}_[A-Za-z0-9]{32,}/.exec(text)?.[0];
  let key: string;
  let organizationId: string;
  /** The person who signed in with the printed link. */
  let owner: Visitor;
  /** The server that each test leaves running for the next one. */
  let server: ServerProcess;

  const FIRST = isLong ? 'two parallel starts on an empty directory: one' : 'a first start';
  it(`${FIRST} shows the demo, with a working link and command`, async () => {
    const servers = await Promise.all((isLong ? [1, 2] : [1]).map(() => ServerProcess.start({ DATA_DIR })));
    const [first, last] = [servers[0]!, servers.at(-1)!];
    const text = () => servers.map(({ stdout }) => stdout).join('');
    await eventually(() => expect(text()).toMatch(/^curl /m));
    if (first !== last) await eventually(() => expect(text()).toMatch(/^ {2}Serving /m));
    expect(text().split(WELCOME)).toHaveLength(2);
    key = keyIn(text())!;

    const [curl] = /^curl .*$/m.exec(text())!;
    const pasted = await new Program('bash', ['-c', curl], {}).ended;
    expect([pasted.status, JSON.parse(pasted.stdout)]).toEqual([
      0,
      { data: expect.objectContaining({ signatures: 41 }), object: 'signature' },
    ]);
    for (const server of servers) expect(await list(server, key)).toEqual(DEMO);
    const demo = new Client(first.origin, '', key);
    for (const [operation, found] of [
      ['petition.list-petitions', { name: 'Save the river', status: 'PUBLISHED', signatures: 41 }],
      ['post.list-posts', { name: 'The first forty', status: 'PUBLISHED' }],
      ['list.list-lists', { name: 'River friends', contacts: 2 }],
      ['tag.list-tags', { name: 'Donor', contacts: 3 }],
    ] as const) {
      expect((await demo.get(operation)).body.data).toEqual([expect.objectContaining(found)]);
    }
    // The printed URL shows the petition's page.
    const [, path = ''] = /petition page +http:\/\/[^/]+(\/\S+)$/m.exec(text())!;
    const page = await (await fetch(last.origin + path)).text();
    expect(page).toContain('41 signatures');
    expect(page).toMatch(/<img\s+src="\/images\//);

    // The printed link signs in as an owner of the demo organization.
    organizationId = /^ +organization +(\S+)$/m.exec(text())![1]!;
    const [, link] = /^ +dashboard +(http:\/\/\S+)$/m.exec(text())!;
    const { origin, pathname } = new URL(link!);
    owner = new Visitor(origin);
    expect((await owner.get(pathname)).text).toContain('<form method="post">');
    const home = `/dashboard/${organizationId}`;
    expect((await owner.post(pathname)).location).toBe(home);
    expect((await owner.get(home)).text).toContain('>Demo organization</a>');
    expect((await demo.get('team.list-members')).body.data).toMatchObject([
      { email: 'you@example.org', role: 'OWNER' },
      { email: 'colleague@example.org', role: 'EDITOR' },
    ]);

    server = last;
    if (first === last) return;
    // PostgreSQL keeps running until the last server stops.
    const { port } = await postmaster();
    expect((await first.end('SIGINT')).status).toBe(0);
    expect(await list(server, key)).toEqual(DEMO);
    expect(await isRunning(port)).toBe(true);
  });

  it('a restart after kill -9 of the server and PostgreSQL keeps the data and shows no key, and a new key comes with a working command', async () => {
    const { pid } = await postmaster();
    await server.end('SIGKILL');
    process.kill(pid, 'SIGKILL');
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const PORT = String((free.address() as AddressInfo).port);
    free.close();
    // The tutorial's receiver, below, runs on this machine.
    server = await ServerProcess.start({ DATA_DIR, PORT, WEBHOOK_ALLOW_PRIVATE: 'true' });
    await eventually(() => expect(server.stdout).toMatch(/^ {2}Serving http:\/\/127\.0\.0\.1:\d+, /m));
    expect(await list(server, key)).toEqual(DEMO);

    // The session still works.
    owner = owner.at(server.origin);
    const { location } = await owner.get('/dashboard');
    const form = { name: 'Website', scopes: 'contact:read', rateLimit: '10' };
    const { text } = await owner.post(`${location!}/keys/new`, form);
    const [, line] = /<pre class="code"[^>]*>(curl [^<]+)<\/pre>/.exec(text)!;
    const pasted = await new Program('bash', ['-c', decoded(line!)], {}).ended;
    expect([pasted.status, JSON.parse(pasted.stdout)]).toEqual([
      0,
      expect.objectContaining({
        data: expect.arrayContaining([expect.objectContaining({ email: DEMO[0] })]),
      }),
    ]);
    expect([server.stderr, keyIn(server.stdout)]).toEqual(['', undefined]);
  });

  longIt('restarts after kill -9 of only the server', async () => {
    await server.end('SIGKILL');
    server = await ServerProcess.start({ DATA_DIR, WEBHOOK_ALLOW_PRIVATE: 'true' });
    expect(await list(server, key)).toEqual(DEMO);
  });

  longIt('after an erasure and a purge, no file of the database contains data of the person', async () => {
    const environment = { DATA_DIR };
    const client = new Client(server.origin, organizationId, key);
    const post = async (operation: string, body: object, headers = {}) => {
      // The demo's key has a rate limit.
      const answer = await retryAfter(() => client.post(operation, body, headers));
      expect([operation, answer.status]).toEqual([operation, 200]);
      return answer.body.data;
    };

    const [first, last, other] = [person('early'), person('lately'), person('other')];
    const marked = { 'Idempotency-Key': `made/${first.email}` };
    const { contactId } = await post('contact.create-contact', { organizationId, ...first }, marked);
    await post('contact.update-contact', { contactId, ...last });
    await post('contact.create-contact', { organizationId, ...other });
    const { petitionId } = await post('petition.create-petition', { name: 'Files' });
    await post('petition.publish-petition', { petitionId });
    await post('petition.add-signature', { petitionId, contactId, comment: COMMENT });
    const { listId } = await post('list.create-list', { name: 'Files' });
    await post('list.add-contacts', { listId, contactIds: [contactId] });
    const queries: Record<string, string>[] = [
      { q: last.lastName! },
      { email: last.email! },
      { city: last.city! },
    ];
    for (const query of queries) {
      const found = await retryAfter(() => client.get('contact.list-contacts', query));
      expect(found.body.data).toHaveLength(1);
    }
    const signatures = await retryAfter(() => client.get('petition.list-signatures', { petitionId }));
    expect(signatures.body.data).toMatchObject([{ comment: COMMENT }]);

    const own = [first, last].flatMap((details) => SEARCHED.map((name) => details[name]!));
    const others = SEARCHED.map((name) => other[name]!);
    const sealed = [first, last, other].flatMap((details) => SEALED.map((name) => details[name]!));
    sealed.push(COMMENT);
    const markers = [...own, ...others, ...sealed];
    const plain = [...own, ...others];
    for (const [marker, folders] of await search(DATA_DIR, plain)) {
      expect([marker, folders]).toEqual([marker, expect.arrayContaining(['pg_wal'])]);
    }

    // No one is erased yet, so nothing is rebuilt. Memory and log are flushed to the tables' files.
    const purge = async (run = command) => {
      const { status, stdout, stderr } = await run(['--json', 'projections', 'purge'], environment);
      expect([status, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    expect(await purge(cli)).toEqual({ rebuilt: [], underWay: [], earlierVersions: [], logEnded: true });
    expect(await search(DATA_DIR, markers)).toEqual(new Map([...all(plain, 'base'), ...all(sealed)]));

    const deleted = await retryAfter(() => client.delete('contact.delete-contact', { contactId }));
    expect(deleted.status).toBe(200);
    // Deleted rows remain in the files.
    const after = await search(DATA_DIR, own);
    for (const marker of own)
      expect([marker, after.get(marker)]).toEqual([marker, expect.arrayContaining(['base'])]);

    expect(await purge()).toMatchObject({ rebuilt: ['contacts'], logEnded: true });
    expect(await search(DATA_DIR, markers)).toEqual(
      new Map([...all(own), ...all(others, 'base'), ...all(sealed)]),
    );

    const status = await command(['--json', 'projections', 'status'], environment);
    expect(JSON.parse(status.stdout)).toContainEqual(
      expect.objectContaining({
        name: 'contacts',
        version: contactsProjection.version,
        lag: 0,
        failure: null,
        instances: expect.any(Number),
      }),
    );
    const drop = (version: string) =>
      command(['projections', 'drop', 'contacts', '--version', version], environment);
    expect(await drop('1')).toMatchObject({
      status: 1,
      stderr: 'Version 1 of contacts does not exist. Run projections status to list all versions.\n',
    });
    expect(await drop(String(contactsProjection.version))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('projections rebuild'),
    });
  });

  // In reading order, because each page uses records of the previous ones.
  const PASTED = [
    'README.md',
    'docs/tutorials/quickstart.md',
    'docs/tutorials/first-petition.md',
    'docs/tutorials/first-email.md',
    'docs/tutorials/moving.md',
    'docs/tutorials/webhook.md',
    'docs/guides/authentication.md',
    'docs/guides/imports.md',
    'docs/guides/segments.md',
    'docs/guides/images.md',
    'docs/guides/public-site.md',
    'docs/guides/broadcasts.md',
    'docs/guides/webhooks.md',
    'docs/guides/petition-pages.md',
    'docs/guides/translations.md',
    'docs/guides/publishable-keys.md',
    'docs/guides/errors-and-idempotency.md',
    'docs/guides/tidy-contacts.md',
    'docs/guides/team-and-roles.md',
    'docs/guides/audit-log.md',
    'docs/guides/verify-a-server.md',
    'docs/guides/erasure.md',
    'docs/guides/mail.md',
    'docs/guides/production.md',
    'docs/guides/backup.md',
    'docs/guides/runbooks/README.md',
    'docs/guides/runbooks/data-changed-by-hand.md',
    'docs/guides/runbooks/failed-background-work.md',
    'docs/guides/runbooks/history-quarantined.md',
    'docs/guides/runbooks/mail-not-delivered.md',
    'docs/guides/runbooks/stale-lists.md',
    'docs/guides/runbooks/webhook-receives-nothing.md',
  ];
  /** Pages whose lines need more than a first start. */
  const ELSEWHERE = {
    'docs/benchmarks.md': 'takes minutes',
    'docs/guides/anchors-and-witnesses.md': 'runs until it is stopped, on several machines',
    'docs/guides/containers.md': 'Docker and Kubernetes',
    'docs/guides/keys.md': 'needs keys that were replaced',
    'docs/guides/restore.md': 'needs a backup',
    'docs/guides/runbooks/witness-contradicts.md': 'needs a witness',
    'docs/guides/tampering.md': 'needs images',
  };
  /** Parts of calls that the pages show because they are refused, and the response. */
  const REFUSED = [
    ['forged', /^HTTP\/1.1 401 /],
    ['"expectedVersion": 99', /"code":"VERSION_MISMATCH"/],
  ] as const;
  /** Lines of these pages that do not work right after a first start, or never end. Other tests run them. */
  const NOT_PASTED = [
    /^npm run -s cli -- listen /,
    /^npm run -s cli -- subscriptions skip /,
    // The checkpoints of all organizations are registered within a minute.
    /register|REGISTER/,
  ];
  const CLI = 'npm run -s cli -- ';

  /** Runs a line of the documentation: commands of the product in a process that has already loaded them. */
  async function paste(line: string, variables: Environment, folder: string): Promise<Result> {
    const shell = (script: string) => new Program('bash', ['-c', script], variables, folder).ended;
    if (!line.startsWith(CLI)) {
      // Shows the errors of the server. Of the two options, curl accepts only one.
      const fails = line.includes(' -f') ? '' : '--fail-with-body ';
      return shell(`curl() { command curl -sS ${fails}"$@"; }; ${line}`);
    }
    const { stdout } = await shell(`printf '%s\\0' ${line.slice(CLI.length)}`);
    const once = line.includes('history monitor') ? ['--once'] : [];
    return command([...stdout.split('\0').slice(0, -1), ...once], { DATA_DIR }, folder);
  }

  it('README, tutorials and guides: each call works when pasted in order after the first start', async () => {
    const folder = join(directory.path, 'pasted');
    await mkdir(folder);
    await cp(join(root, 'src/demo/river.jpg'), join(folder, 'bridge.jpg'));
    /** The empty directory that the page of outsiders asks for. */
    const outside = join(directory.path, 'outside');
    await mkdir(outside);
    for (const path of [folder, outside]) await writeFile(join(path, 'api-key'), key);
    // Quoted JSON can have several lines.
    const CALL = /^ *(?:curl|printf|gzip|node|npm run -s cli --) (?:[^\n"']|"(?:[^"\\]|\\[^])*"|'[^']*')*$/gm;
    const linesOf = async (page: string) => {
      const text = await readFile(join(root, page), 'utf8');
      const blocks = [...text.matchAll(/^( *)```\w*\n([^]*?)^\1```$/gm)].map(([, , block]) => block!);
      return blocks
        .flatMap((block) => block.replaceAll('\\\n', ' ').match(CALL) ?? [])
        .map((line) => line.trim());
    };
    const pages = (await readdir(join(root, 'docs'), { recursive: true }))
      .filter((name) => name.endsWith('.md') && !/^(reference|decisions)\//.test(name))
      .map((name) => `docs/${name}`);
    const withLines: string[] = [];
    for (const page of ['README.md', ...pages]) if ((await linesOf(page)).length > 0) withLines.push(page);
    expect([...PASTED, ...Object.keys(ELSEWHERE)].toSorted()).toEqual(withLines.toSorted());
    const calls: { page: string; call: string }[] = [];
    for (const page of isLong ? PASTED : PASTED.filter((page) => !page.startsWith('docs/guides/')))
      for (const call of await linesOf(page))
        if (!NOT_PASTED.some((pattern) => pattern.test(call))) calls.push({ page, call });
    expect(calls.length).toBeGreaterThan(isLong ? 40 : 15);

    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const receiverPort = String((free.address() as AddressInfo).port);
    free.close();
    const tutorial = await readFile(join(root, 'docs/tutorials/webhook.md'), 'utf8');
    const [, code] = /^```js\n([^]*?)^```$/m.exec(tutorial)!;
    await writeFile(join(folder, 'receiver.mjs'), code!.replace('4000', receiverPort));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    let receiver: Program | undefined;

    // The ids that earlier calls returned, and one that readers look up.
    const client = new Client(server.origin, organizationId, key);
    const { body: signed } = await client.get('history.list-events', { type: 'PetitionSigned', limit: '1' });
    const person = { organizationId, email: 'twin@example.org' };
    const { body: twin } = await client.post('contact.create-contact', person);
    const { body: first } = await client.get('contact.list-contacts', { sort: 'createdAt', limit: '1' });
    const ids: Environment = {
      ...{ KEY: key, ORG: organizationId, EVENT: signed.data[0].id },
      ...{ DUPLICATE: twin.data.contactId, CURSOR: first.pagination.cursor },
    };
    try {
      for (const { page, call } of calls) {
        const here = call
          .replaceAll(
            /localhost:3000|(?<=https?:\/\/)(?:api|advocacy)\.example\.org/g,
            new URL(server.origin).host,
          )
          .replaceAll(`https://${new URL(server.origin).host}`, server.origin)
          .replaceAll('localhost:4000', `localhost:${receiverPort}`)
          .replaceAll(' /backup/', ` ${folder}/`);
        let pasted!: Result;
        // Readers never reach the key's limit of ten calls per second, and their imports have ended before they read on.
        await eventually(async () => {
          pasted = await paste(here, ids, page.includes('verify-a-server') ? outside : folder);
          expect(pasted.stdout + pasted.stderr).not.toMatch(
            /RATE_LIMIT_EXCEEDED|IMPORT_UNFINISHED|error: 429/,
          );
        });
        const { status, stdout, stderr } = pasted;
        const refusal = REFUSED.find(([part]) => call.includes(part))?.[1];
        if (refusal) {
          expect([call, status, stdout]).toEqual([call, 22, expect.stringMatching(refusal)]);
          continue;
        }
        const quiet = call.startsWith('curl') ? '' : stderr;
        expect([page, call, status, stdout, stderr]).toEqual([page, call, 0, stdout, quiet]);
        // The invited person opens the printed link.
        const invitation = /\/dashboard\/invitations\/[\w.-]+/.exec(stdout)?.[0];
        if (invitation) await new Visitor(server.origin).post(invitation);
        // Readers compare with a checkpoint of an earlier day.
        if (call.includes('--out checkpoint'))
          for (const age of ['older', 'newer'])
            await cp(join(folder, 'checkpoint'), join(folder, `${age}-checkpoint`));
        if (!stdout.startsWith('{')) continue;
        const { data = {} } = JSON.parse(stdout);
        for (const [name, id] of Object.entries<string>(data))
          if (name.endsWith('Id') && id) ids[name.slice(0, -2).toUpperCase()] = id;
        if (data.apiKeyId) ids.ID = data.apiKeyId;
        if (page === 'docs/tutorials/webhook.md' && data.secret) {
          const SECRET: string = data.secret;
          receiver = new Program(process.execPath, [join(folder, 'receiver.mjs')], { SECRET });
          await eventually(() => fetch(`http://localhost:${receiverPort}`, { method: 'POST' }));
        }
        if (call.includes('webhook.test-webhook')) expect(data).toMatchObject({ delivered: true });
      }
      await eventually(() => expect(receiver!.stdout).toContain('PetitionSigned'));
    } finally {
      await receiver?.end('SIGTERM');
    }
    const { port } = await postmaster();
    expect(await isRunning(port)).toBe(true);
    expect((await server.end('SIGTERM')).status).toBe(0);
    expect(await isRunning(port)).toBe(false);
    await expect(access(postmasterFile())).rejects.toThrow();
  });

  longIt(
    'with a mail server, the first start creates no demo, whose invented addresses would bounce, but says how to begin',
    async () => {
      const environment = { DATA_DIR: join(directory.path, 'with-mail'), MAIL_URL: 'smtp://127.0.0.1:1' };
      server = await ServerProcess.start(environment);
      await eventually(() =>
        expect(server.log).toContainEqual(expect.objectContaining({ inCheckout: expect.any(String) })),
      );
      expect(server.stdout).not.toContain('demo');
      const { inCheckout } = server.log.find((line) => line.inCheckout)!;
      const [, words = ''] = /^npm run -s cli -- (.*)$/.exec(inCheckout as string)!;
      const created = await command(words.split(' '), environment);
      expect([created.status, keyIn(created.stdout)]).toEqual([0, expect.any(String)]);
      expect((await server.end('SIGTERM')).status).toBe(0);
    },
  );

  longIt(
    'start:dev: a save restarts the server on the same PostgreSQL, and broken code keeps the previous one',
    async () => {
      const checkout = join(directory.path, 'checkout');
      await mkdir(checkout);
      const parts = ['src', 'libs', 'locales', 'migrations', 'scripts', 'package.json', 'package-lock.json'];
      for (const part of parts) await cp(join(root, part), join(checkout, part), { recursive: true });
      await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
      const source = join(checkout, 'src/server/serve.ts');
      const before = await readFile(source, 'utf8');
      const wrong = join(checkout, 'src/wrong.ts');
      await writeFile(wrong, 'export const number: number = 1;');
      // Checks one file only, because checking all takes a core for ten seconds.
      await writeFile(join(checkout, 'tsconfig.json'), '{ "files": ["src/wrong.ts"] }');

      const environment = { DATA_DIR, HOST: '127.0.0.1', PORT: '0', VERIFY_EVERY: '0' };
      const dev = new Program('npm', ['run', '--silent', 'start:dev'], environment, checkout);
      // Replaces the file, as many editors do.
      const save = async (text: string) => {
        await writeFile(`${source}~`, text);
        await rename(`${source}~`, source);
      };
      const serves = (message: string) =>
        eventually(async () => {
          const line = dev.stdout.split('\n').find((one) => one.includes(`"message":"${message}"`));
          const { port } = JSON.parse(line!);
          expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
        });
      try {
        await serves('listening');
        const { pid } = await postmaster();
        await writeFile(wrong, "export const number: number = 'one';");
        await save(before.replace("message: 'listening'", "message: 'listening anew'"));
        await serves('listening anew');
        // The type check may take minutes while other tests use the CPU.
        await eventually(() => expect(dev.stderr).toContain('TS2322'), 180);
        await save('const = ;');
        await eventually(() => expect(dev.stderr).toContain('Unexpected token'));
        await serves('listening anew');
        await save(before.replace("message: 'listening'", "message: 'listening again'"));
        await serves('listening again');
        expect((await postmaster()).pid).toBe(pid);
      } finally {
        expect((await dev.end('SIGINT')).status).toBe(0);
      }
      // PostgreSQL stops after the program that used it last.
      await eventually(() => expect(access(postmasterFile())).rejects.toThrow());
    },
  );
});
