import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { EventStore, Keyring } from '#libs/event-store';
import {
  createTestDatabase,
  startedTemplateOn,
  eventually,
  killAtExit,
  type TestDatabase,
} from '#libs/testing';
import { newApiKey } from '../src/auth/index.js';
import { upcasters } from '../src/modules.js';
import { organization } from '../src/organizations/index.js';
import { Client } from './harness.js';

export { eventually };

export type Environment = { [name: string]: string };
export type Result = { status: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

const root = resolve(__dirname, '..');
const MAIN = join(root, 'dist/bundle/main.js');
export const CLI = join(root, 'dist/bundle/cli.js');
/** Published with the databases of `databases/`, so for tests only. */
export const ENCRYPTION_KEY = Buffer.alloc(32, 7);
/** A folder without .env, so that a developer's own file is not read. */
export const NO_ENV = join(root, 'dist');

/** An environment with only the variables that programs need to run. */
export function environmentOf(environment: Environment): Environment {
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  return { PATH, HOME, NODE_ENV: 'test', ...(TMPDIR === undefined ? {} : { TMPDIR }), ...environment };
}

/** A program and its output. */
export class Program {
  stdout = '';
  stderr = '';
  /** Resolves when the program has ended and all output is read. */
  readonly ended: Promise<Result>;
  /** Resolves when the program has ended, even if output is unread. */
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
        // Fails even if the test ignored the response.
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

  /** Stops reading the output, so that the pipe fills. */
  stopReading(): void {
    this.child.stdout!.pause();
  }

  resumeReading(): void {
    this.child.stdout!.resume();
  }

  /** Closes the reading end of the output. */
  closeOutput(): void {
    this.child.stdout!.destroy();
  }

  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Result> {
    this.send(signal);
    return this.ended;
  }
}

type LogLine = { message: string; [field: string]: any };

/** The server: `node dist/bundle/main.js`. */
export class ServerProcess extends Program {
  private port: number | undefined;
  private readonly lines: LogLine[] = [];
  private read = 0;

  /**
   * @param files the limit of open files, including connections
   * @param main the program of another version (`releases.ts`)
   * @param node the path of another Node.js
   */
  constructor(environment: Environment, cwd?: string, files?: number, main = MAIN, node = process.execPath) {
    const [command, ...args] =
      files === undefined ? [node, main] : ['sh', '-c', `ulimit -n ${files} && exec "$0" "$1"`, node, main];
    // The daily self-checks would run at any time.
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
    this.port ??= this.log.find(({ message }) => message === 'listening')?.port;
    expect(this.port).toBeDefined();
    return `http://127.0.0.1:${this.port}`;
  }

  /** The log lines so far, without the welcome text of the embedded mode. */
  get log(): readonly LogLine[] {
    // Tests ask repeatedly, and each line is parsed once.
    const end = this.stdout.lastIndexOf('\n') + 1;
    for (const line of this.stdout.slice(this.read, end).split('\n')) {
      if (line.startsWith('{')) this.lines.push(JSON.parse(line));
    }
    this.read = end;
    return [...this.lines];
  }
}

/** The command line: `node dist/bundle/cli.js …`. */
export function cli(args: readonly string[], environment: Environment): Promise<Result> {
  return new Program(process.execPath, [CLI, ...args], environment).ended;
}

/** The command line as typed by users: `npm run --silent cli -- …` in the checkout. */
export function npmRunCli(args: readonly string[], environment: Environment): Promise<Result> {
  return new Program('npm', ['run', '--silent', 'cli', '--', ...args], environment, root).ended;
}

/** The URL with a name that PostgreSQL shows for its connections. */
export function withApplicationName(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('application_name', name);
  return url.href;
}

/** A database, and server processes that use it. */
export class Deployment {
  readonly servers: ServerProcess[] = [];
  readonly store: EventStore;

  private constructor(readonly database: TestDatabase) {
    // The test database's own store has a different key than the servers.
    this.store = new EventStore(database.source, new Keyring(ENCRYPTION_KEY), upcasters);
  }

  /**
   * @param server the PostgreSQL for the database. Default: the one of all tests.
   * @param dump an older database to start with (`stored-databases.ts`)
   */
  static async create(server?: string, dump?: string): Promise<Deployment> {
    const template = dump === undefined ? startedTemplateOn(server) : undefined;
    return new Deployment(await createTestDatabase(server, dump, template));
  }

  /** A copy of the database. No server may be running. */
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
   * Creates an organization, and a client with an unlimited key by default. Running servers accept the key half a second later,
   * and servers that start later accept it immediately.
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

/** Creates a deployment and an organization for each test of a file. */
export function deploymentOfEach(give: (own: Deployment, organization: Client) => void): void {
  let own: Deployment;
  beforeEach(async () => {
    own = await Deployment.create();
    give(own, await own.organization());
  });
  afterEach(() => own.stop());
}

/** A temporary directory for the embedded PostgreSQL, which runs as another user if started by root. */
export async function createDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'embedded-'));
  await chmod(path, 0o711);
  // The PostgreSQL of a killed server may write until it notices.
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 50 });
  return { path, remove };
}

/** Runs `work` for 0 to count - 1, with at most `atATime` in parallel. */
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
