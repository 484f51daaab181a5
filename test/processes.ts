import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { EventStore, Keyring } from '#libs/event-store';
import { createTestDatabase, eventually, killAtExit, type TestDatabase } from '#libs/testing';
import { newApiKey } from '../src/auth/index.js';
import { organization } from '../src/organizations/index.js';
import { Client } from './harness.js';

export { eventually };

export type Environment = { [name: string]: string };
export type Result = { status: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

const root = resolve(__dirname, '..');
const MAIN = join(root, 'dist/bundle/main.js');
export const CLI = join(root, 'dist/bundle/cli.js');
/** Published, with the databases of `databases/`: for tests alone. */
export const ENCRYPTION_KEY = Buffer.alloc(32, 7);
/** Where no .env lies: a developer's own is not read. */
export const NO_ENV = join(root, 'dist');

/** Nothing of the tests' own environment but what programs need to run. */
export function environmentOf(environment: Environment): Environment {
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  return { PATH, HOME, NODE_ENV: 'test', ...(TMPDIR === undefined ? {} : { TMPDIR }), ...environment };
}

/** A program and what it wrote. */
export class Program {
  stdout = '';
  stderr = '';
  /** Resolves when it has ended, and all that it wrote was read. */
  readonly ended: Promise<Result>;
  /** Resolves when it has ended, whether its output was read or not. */
  readonly exited: Promise<Pick<Result, 'status' | 'signal'>>;
  private readonly child: ChildProcess;

  constructor(command: string, args: readonly string[], environment: Environment, cwd = NO_ENV) {
    this.child = spawn(command, args, {
      cwd,
      env: environmentOf(environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    const release = killAtExit(() => void this.child.kill('SIGKILL'));
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (status, signal) => resolve({ status, signal }));
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (status, signal) => {
        release();
        // Also where a test did not look at the answer.
        const undeclared = /^.*"message":"undeclared error.*$/m.exec(this.stdout);
        if (undeclared) reject(new Error(undeclared[0]));
        resolve({ status, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  send(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** What it writes from now on stays in the pipe, until that is full. */
  stopReading(): void {
    this.child.stdout!.pause();
  }

  readOn(): void {
    this.child.stdout!.resume();
  }

  /** Nobody will ever read what it writes. */
  closeOutput(): void {
    this.child.stdout!.destroy();
  }

  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Result> {
    this.send(signal);
    return this.ended;
  }
}

/** The server: `node dist/bundle/main.js`. */
export class ServerProcess extends Program {
  /**
   * @param files the number of files, connections among them, that the process may have open.
   * @param main the program, where it is another version's (`releases.ts`).
   * @param node the Node.js that it runs on, where it is another one than the tests'.
   */
  constructor(environment: Environment, cwd?: string, files?: number, main = MAIN, node = process.execPath) {
    const [command, ...args] =
      files === undefined ? [node, main] : ['sh', '-c', `ulimit -n ${files} && exec "$0" "$1"`, node, main];
    // A day's checks would come at any moment.
    const preset = { HOST: '127.0.0.1', PORT: '0', SHUTDOWN_DELAY: '0', VERIFY_EVERY: '0' };
    super(command, args, { ...preset, ...environment }, cwd);
  }

  /** Starts a server and waits until it listens. */
  static async start(environment: Environment): Promise<ServerProcess> {
    return new ServerProcess(environment).listening();
  }

  async listening(): Promise<this> {
    const end = this.ended.then(({ status, stdout, stderr }) => {
      throw new Error(`The server ended with status ${status} before it listened:\n${stdout}${stderr}`);
    });
    await Promise.race([end, eventually(() => expect(this.origin).toBeDefined())]);
    return this;
  }

  get origin(): string {
    const port = this.log.find(({ message }) => message === 'listening')?.port;
    expect(port).toBeDefined();
    return `http://127.0.0.1:${port}`;
  }

  /** What it logged so far; the welcome of the embedded mode is no log. */
  get log(): { message: string; [field: string]: any }[] {
    const lines = this.stdout.split('\n').slice(0, -1);
    return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  }
}

/** The command line: `node dist/bundle/cli.js …`. */
export function cli(args: readonly string[], environment: Environment): Promise<Result> {
  return new Program(process.execPath, [CLI, ...args], environment).ended;
}

/** As somebody types it: `npm run --silent cli -- …`, in the checkout. */
export function npmRunCli(args: readonly string[], environment: Environment): Promise<Result> {
  return new Program('npm', ['run', '--silent', 'cli', '--', ...args], environment, root).ended;
}

/** A database of its own, and the server processes on it. */
export class Deployment {
  readonly servers: ServerProcess[] = [];
  readonly store: EventStore;

  private constructor(readonly database: TestDatabase) {
    // The test database's own store has another key than the servers.
    this.store = new EventStore(database.source, new Keyring(ENCRYPTION_KEY));
  }

  /**
   * @param server the PostgreSQL to make the database on, where it is not the one of all tests
   * @param dump of an older database, to start on (`stored-databases.ts`)
   */
  static async create(server?: string, dump?: string): Promise<Deployment> {
    return new Deployment(await createTestDatabase(server, dump));
  }

  /** With what was there at this moment; no server may run. */
  async copy(): Promise<Deployment> {
    return new Deployment(await this.database.copy());
  }

  get environment(): Environment {
    return { DATABASE_URL: this.database.url, ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64') };
  }

  async startServer(environment: Environment = {}): Promise<ServerProcess> {
    const server = new ServerProcess({ ...this.environment, ...environment });
    this.servers.push(server);
    return server.listening();
  }

  /**
   * A new organization with a key, that no rate limit slows down unless one is given; servers know the key half a second later,
   * or at once when they start later.
   */
  async organization(rateLimit: number | 'unlimited' = 'unlimited'): Promise<Client> {
    const organizationId = uuidv7();
    const { key, write } = newApiKey(this.store.keyring, {
      name: 'Test',
      scopes: ['*'],
      rateLimit,
      expiresAt: null,
    });
    const metadata = { actor: { type: 'system' as const, id: 'test' }, requestId: 'test' };
    const events = [{ type: 'OrganizationCreated', data: { name: 'Test organization' } }];
    const { streamType } = organization;
    const created = { streamType, streamId: organizationId, expectedVersion: 0, events };
    await this.store.append({ organizationId, metadata, writes: [created, write] });
    return new Client('', organizationId, key);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.end('SIGKILL')));
    await this.database.drop();
  }
}

/** Gives each test of a file a deployment and an organization of its own. */
export function deploymentOfEach(give: (own: Deployment, organization: Client) => void): void {
  let own: Deployment;
  beforeEach(async () => {
    own = await Deployment.create();
    give(own, await own.organization());
  });
  afterEach(() => own.stop());
}

/** A temporary directory for the embedded PostgreSQL, which as root belongs to another user. */
export async function createDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'embedded-'));
  await chmod(path, 0o711);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Does work number 0 … count - 1, so many at a time. */
export async function inParallel(
  count: number,
  atATime: number,
  work: (n: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}
