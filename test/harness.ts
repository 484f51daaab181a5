import { type NestExpressApplication } from '@nestjs/platform-express';
import { CommandBus } from '@nestjs/cqrs';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { type DataSource } from 'typeorm';
import { openDatabase } from '#libs/database';
import { type MailMessage, type MailOutcome, Mailer } from '#libs/mail';
import { JsonLogger } from '#libs/operations';
import { type Projections } from '#libs/projections';
import { type InputClass, ServerLife, systemInput, undeclaredErrors } from '#libs/rpc';
import { createTestDatabase, startedTemplateOn, eventually, type TestDatabase } from '#libs/testing';
import { ENDINGS } from '#libs/verify';
import { CreateApiKey, RevokeApiKey } from '../src/auth/index.js';
import { readConfig } from '../src/config/index.js';
import { HistoryReads } from '../src/history/index.js';
import { ConfirmSignature, RequestSignature } from '../src/petitions/index.js';
import { AcceptInvitation, InvitationLinks } from '../src/team/index.js';
import { CreateOrganization } from '../src/organizations/index.js';
import {
  BackgroundWorkers,
  createApplication,
  docsUrl,
  openRuntime,
  type Runtime,
} from '../src/server/index.js';
import { requireDocumented } from './documented.js';

const OVERLOAD_PAUSE_MS = 100;

/** A time as the API returns it. */
export const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** The id of no record. */
export const NOBODY = '01990a6e-1111-7000-8000-000000000001';

export type Answer = { status: number; body: any; headers: Headers };
type Key = { id: string; key: string };

/** The databases of servers that were started here. */
const databases = new Map<string, DataSource>();

/**
 * The list of events ends before the first append that is still in flight, whoever makes it. Waits until there is none, so
 * that the list contains all events that a test has caused.
 */
async function noAppendInFlight(origin: string): Promise<void> {
  const database = databases.get(origin);
  if (!database?.isInitialized) return;
  await eventually(async () => {
    const [row] = await database.query('SELECT event_horizon() >= last_position() AS "isComplete"');
    expect(row).toEqual({ isComplete: true });
  });
}

/** A client of one server, with the key of one organization. */
export class Client {
  constructor(
    readonly origin: string,
    readonly organizationId: string,
    readonly key: string | undefined,
    private readonly retriesWhenOverloaded = true,
    /** False for a server of another version. */
    private readonly isDocumented = true,
  ) {}

  /** A client with the same key on another server. */
  at(origin: string): Client {
    return new Client(origin, this.organizationId, this.key, this.retriesWhenOverloaded, this.isDocumented);
  }

  /** For tests of overload. Other tests retry, because a busy machine may overload a server without their help. */
  withoutRetries(): Client {
    return new Client(this.origin, this.organizationId, this.key, false, this.isDocumented);
  }

  get(
    operation: string,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.request(
      'GET',
      `/v1/${operation}?${new URLSearchParams(query).toString()}`,
      undefined,
      headers,
    );
  }

  post(operation: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', `/v1/${operation}`, JSON.stringify(body), headers);
  }

  delete(operation: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('DELETE', `/v1/${operation}`, JSON.stringify(body), headers);
  }

  async request(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    if (/^\/v1\/(history|event)\.list-events/.test(path)) await noAppendInFlight(this.origin);
    const response = await fetch(this.origin + path, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: {
        ...(this.key === undefined ? {} : { Authorization: `Bearer ${this.key}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const answer = {
      status: response.status,
      body: isJson && text ? JSON.parse(text) : text,
      headers: response.headers,
    };
    if (this.isDocumented) requireDocumented(method, path.split('?', 1)[0]!, answer);
    // The server rejected the request before doing anything.
    if (this.retriesWhenOverloaded && answer.body.error?.reason === 'OVERLOADED') {
      await sleep(OVERLOAD_PAUSE_MS);
      return this.request(method, path, body, headers);
    }
    return answer;
  }
}

/**
 * Sends a request again that met a limit per second (429), or a machine that was too busy for it (503). Longer limits
 * are a matter of the test.
 */
export async function retryAfter<Answer extends { status: number; headers: Headers }>(
  ask: () => Promise<Answer>,
  statuses: readonly number[] = [429, 503],
) {
  for (;;) {
    const answer = await ask();
    const seconds = Number(answer.headers.get('retry-after'));
    if (!statuses.includes(answer.status) || seconds > 5) return answer;
    await sleep(Math.max(seconds, 1) * 1_000);
  }
}

/** Sends bytes, and reads the response until the connection is closed. */
export async function sendBytes(origin: string, bytes: string | Uint8Array): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const [head = '', ...rest] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = new Headers(fields.map((field) => field.split(/: (.*)/s).slice(0, 2) as [string, string]));
  const text = rest.join('\r\n\r\n');
  return { status: Number(line.split(' ')[1]), body: text === '' ? '' : JSON.parse(text), headers };
}

/** A proxy between an instance and its database that can disconnect them. */
export class DatabaseGate {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((socket) => this.pass(socket));
  private state: 'open' | 'shut' | 'silent' = 'open';

  private constructor(private readonly target: URL) {}

  static async before(databaseUrl: string): Promise<DatabaseGate> {
    const gate = new DatabaseGate(new URL(databaseUrl));
    gate.server.listen(0, '127.0.0.1');
    await once(gate.server, 'listening');
    return gate;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return Object.assign(new URL(this.target), { host: `127.0.0.1:${port}`, search: '' }).href;
  }

  /** Closes all connections, and every new one immediately. */
  shut(): void {
    this.state = 'shut';
    for (const socket of this.sockets) socket.end();
  }

  /** Keeps and accepts connections, but transfers nothing until {@link open}. */
  silence(): void {
    this.state = 'silent';
    for (const socket of this.sockets) socket.pause();
  }

  open(): void {
    this.state = 'open';
    for (const socket of this.sockets) socket.resume();
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private pass(client: Socket): void {
    const server = connect(Number(this.target.port || 5432), this.target.hostname);
    this.join(client, server);
    this.join(server, client);
    if (this.state === 'shut') client.end();
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('data', (bytes) => to.write(bytes));
    if (this.state === 'silent') from.pause();
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      to.end();
    });
  }
}

/** The rows in which a projection differs from the history. Waits while the background rebuilds the same projection. */
export async function differencesIn(projections: Projections, name: string): Promise<unknown[]> {
  let differences: unknown[] = [];
  await eventually(async () => (differences = await projections.maintenance.verify(name)), 120);
  return differences;
}

export type Instance = {
  origin: string;
  app: NestExpressApplication;
  runtime: Runtime;
  life: ServerLife;
  workers: BackgroundWorkers;
};

/** Environment variables, in addition to those that the harness sets itself. */
type Environment = Record<string, string>;

const COMMANDS = {
  AcceptInvitation,
  ConfirmSignature,
  CreateApiKey,
  CreateOrganization,
  RequestSignature,
  RevokeApiKey,
} satisfies Record<string, InputClass>;
type CommandName = keyof typeof COMMANDS;

/** The product on a database, with actions of tests that no request offers. */
export abstract class Product {
  abstract readonly database: Pick<TestDatabase, 'url' | 'source'>;
  abstract readonly instances: readonly { origin: string }[];

  /** Runs a command of the program itself. */
  abstract run<Result>(name: CommandName, organizationId: string, fields: object): Promise<Result>;

  /** Sends an email. Without a mail server it becomes a file of the outbox. */
  abstract sendMail(message: MailMessage): Promise<MailOutcome>;

  /** The URL in an invitation. */
  abstract invitationUrl(organizationId: string, invitationId: string): Promise<string>;

  get origin(): string {
    return this.instances[0]!.origin;
  }

  /** Creates an organization, and a client with an unlimited key. */
  async organization(): Promise<Client> {
    for (const { origin } of this.instances) databases.set(origin, this.database.source);
    const organizationId = uuidv7();
    await this.run('CreateOrganization', organizationId, { name: 'Test organization' });
    const { key } = await this.createKey(organizationId);
    return new Client(this.origin, organizationId, key);
  }

  async createKey(organizationId: string, options: Partial<CreateApiKey> = {}): Promise<Key> {
    const { apiKeyId: id, key } = await this.run<{ apiKeyId: string; key: string }>(
      'CreateApiKey',
      organizationId,
      { name: 'Test', scopes: ['*'], rateLimit: 'unlimited', expiresAt: null, ...options },
    );
    return { id, key };
  }

  async revokeKey(organizationId: string, apiKeyId: string): Promise<void> {
    await this.run('RevokeApiKey', organizationId, { apiKeyId });
  }

  /** The event types of an organization, in order. */
  async eventTypes(organizationId: string): Promise<string[]> {
    const rows = await this.database.source.query(
      'SELECT type FROM events WHERE organization_id = $1 ORDER BY position',
      [organizationId],
    );
    return rows.map(({ type }: { type: string }) => type);
  }

  /** The events after a position with their actors and streams, oldest first. */
  async eventsAfter(
    organizationId: string,
    position: string,
  ): Promise<
    { type: string; actor: string; streamType: string; streamId: string; subjectId: string | null }[]
  > {
    return this.database.source.query(
      `SELECT type, concat_ws(' ', metadata->'actor'->>'type', metadata->'actor'->>'id') AS actor,
         stream_type AS "streamType", stream_id AS "streamId", subject_id AS "subjectId" FROM events
       WHERE organization_id = $1 AND position > $2 ORDER BY position`,
      [organizationId, position],
    );
  }

  /** A time of the database's clock between all past events and all later ones. */
  async moment(): Promise<string> {
    // The API returns times in milliseconds.
    const later = 'SELECT clock_timestamp() AS at FROM (SELECT pg_sleep(0.002) OFFSET 0) AS rest';
    const [row] = await this.database.source.query<[{ at: Date }]>(later);
    await this.database.source.query(later);
    return row.at.toISOString();
  }

  /** The position of the newest event. */
  async lastPosition(): Promise<string> {
    const [row] = await this.database.source.query<[{ position: string }]>(
      'SELECT coalesce(max(position), 0)::text AS position FROM events',
    );
    return row.position;
  }

  /** Event types with unreadable personal data, but without an event that tells verifiers why. */
  protected async unexplainedErasures(): Promise<string[]> {
    const rows = await this.database.source.query(
      `SELECT DISTINCT e.type FROM events e
       WHERE e.personal IS NOT NULL
         AND NOT EXISTS (
           SELECT 1 FROM subject_keys k WHERE k.organization_id = e.organization_id AND k.subject_id = e.subject_id)
         AND NOT EXISTS (
           SELECT 1 FROM events x
           WHERE x.organization_id = e.organization_id AND x.stream_id = e.subject_id AND x.type = ANY($1))`,
      [[...ENDINGS]],
    );
    return rows.map(({ type }: { type: string }) => type);
  }

  /** Types of events that erase a person or an address whose key still exists. */
  protected async unfinishedErasures(): Promise<string[]> {
    const rows = await this.database.source.query(
      `SELECT DISTINCT x.type FROM events x
       JOIN subject_keys k ON k.organization_id = x.organization_id AND k.subject_id = x.stream_id
       WHERE x.type = ANY($1)`,
      [[...ENDINGS]],
    );
    return rows.map(({ type }: { type: string }) => type);
  }
}

/** Instances of the product in this process, with their own database. */
export class Api extends Product {
  private constructor(
    readonly database: TestDatabase,
    private readonly environment: Environment,
    readonly instances: Instance[],
  ) {
    super();
  }

  /** @param dump an older database to start with (`stored-databases.ts`) */
  static async start({
    instances = 1,
    environment = {},
    dump,
  }: { instances?: number; environment?: Environment; dump?: string } = {}): Promise<Api> {
    const template = dump === undefined ? startedTemplateOn() : undefined;
    const database = await createTestDatabase(undefined, dump, template);
    const api = new Api(database, environment, []);
    for (let n = 0; n < instances; n += 1) await api.addInstance();
    return api;
  }

  /** Adds an instance that differs from the others in these variables only. */
  async addInstance(environment: Environment = {}): Promise<Instance> {
    const config = readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: this.database.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      // Each deployment has its own folder of mail and images.
      DATA_DIR: join(tmpdir(), 'advocacy-tests', new URL(this.database.url).pathname),
      ...this.environment,
      ...environment,
    });
    const logger = new JsonLogger('silent');
    const runtime = await openRuntime(config, logger);
    const app = await createApplication(config, runtime, logger);
    const server = app.getHttpServer();
    let port = 0;
    const life = new ServerLife(server, (code, request) => docsUrl({ ...config, port })(code, request), {
      servedToTheEnd: '/health/live',
    });
    await app.listen(0, '127.0.0.1');
    ({ port } = server.address() as AddressInfo);
    runtime.projections.poll();
    const workers = new BackgroundWorkers(app, runtime);
    const instance = { origin: `http://127.0.0.1:${port}`, app, runtime, life, workers };
    this.instances.push(instance);
    return instance;
  }

  /** Starts the background workers of the first instance. By default none run, because most tests check only the events of their own requests. */
  startWorkers(): void {
    this.instances[0]!.workers.start();
  }

  /** @param areForged whether the test appends erasures by itself, which destroy no key. */
  async stop({ areForged = false } = {}): Promise<void> {
    for (const { app, runtime, life, workers } of this.instances) {
      await life.drain();
      await workers.stop();
      await app.close();
      await runtime.projections.stop();
      await runtime.close();
    }
    const unexplained = await this.unexplainedErasures();
    const unfinished = areForged ? [] : await this.unfinishedErasures();
    await this.database.drop();
    expect([unexplained, unfinished]).toEqual([[], []]);
    // Fails even if the test ignored the response.
    expect([...undeclaredErrors]).toEqual([]);
  }

  run<Result>(name: CommandName, organizationId: string, fields: object): Promise<Result> {
    const command = systemInput(COMMANDS[name] as InputClass, organizationId, fields, 'test');
    return this.instances[0]!.app.get(CommandBus).execute(command);
  }

  invitationUrl(organizationId: string, invitationId: string): Promise<string> {
    const links = this.instances[0]!.app.get(InvitationLinks, { strict: false });
    return Promise.resolve(links.urlOf({ organizationId, invitationId }));
  }

  sendMail(message: MailMessage): Promise<MailOutcome> {
    return this.instances[0]!.app.get(Mailer).send(message);
  }

  /** Records this hour's reads of an organization's history, as if the hour had ended. */
  async recordReads(organizationId: string): Promise<void> {
    await this.database.source.query(
      `UPDATE history_reads SET hour = hour - interval '2 hours' WHERE organization_id = $1`,
      [organizationId],
    );
    await Promise.all(this.instances.map(({ app }) => app.get(HistoryReads).recordHours()));
  }
}

type Host = { process: ChildProcess; url: string; origins: string[] };
/** One per Jest worker. Test code is reloaded for each file, but globals persist. */
const worker = globalThis as { sharedHost?: Promise<Host>; sharedEnd?: NodeJS.Timeout };
/** The next file may need none, and servers react to the events of each other. */
const IDLE_MS = 5_000;

/**
 * Two server processes from the bundle and a database, shared by all test files of a Jest worker. For tests that only send
 * requests. Tests that restart servers, count statements or change settings start their own.
 */
export class SharedApi extends Product {
  private static asked = 0;

  private constructor(
    private readonly host: ChildProcess,
    readonly database: { url: string; source: DataSource },
    readonly instances: readonly { origin: string }[],
  ) {
    super();
  }

  static async open(): Promise<SharedApi> {
    clearTimeout(worker.sharedEnd);
    const { process, url, origins } = await (worker.sharedHost ??= startHost());
    const source = await openDatabase({ url, poolSize: 5, migrations: [] });
    return new SharedApi(
      process,
      { url, source },
      origins.map((origin) => ({ origin })),
    );
  }

  async stop(): Promise<void> {
    const end = () => {
      worker.sharedHost = undefined;
      this.host.disconnect();
    };
    worker.sharedEnd = setTimeout(end, IDLE_MS).unref();
    const [unexplained, unfinished] = [await this.unexplainedErasures(), await this.unfinishedErasures()];
    await this.database.source.destroy();
    expect([unexplained, unfinished]).toEqual([[], []]);
    expect(await this.ask({})).toEqual([]);
  }

  run<Result>(command: CommandName, organizationId: string, fields: object): Promise<Result> {
    return this.ask({ command, organizationId, fields }) as Promise<Result>;
  }

  invitationUrl(organizationId: string, invitationId: string): Promise<string> {
    return this.ask({ invitationId, organizationId }) as Promise<string>;
  }

  sendMail(message: MailMessage): Promise<MailOutcome> {
    return this.ask({ message }) as Promise<MailOutcome>;
  }

  private ask(question: object): Promise<unknown> {
    const n = (SharedApi.asked += 1);
    return hold(
      this.host,
      () =>
        new Promise((resolve, reject) => {
          const listen = (answer: { n: number; result?: unknown; error?: string }) => {
            if (answer.n !== n) return;
            this.host.off('message', listen);
            if (answer.error === undefined) resolve(answer.result);
            else reject(new Error(answer.error));
          };
          this.host.on('message', listen);
          this.host.send({ n, ...question });
        }),
    );
  }
}

async function startHost(): Promise<Host> {
  const host = fork(join(__dirname, '../dist/bundle/shared-host.js'));
  return hold(host, async () => {
    const ended = once(host, 'exit').then(() => {
      throw new Error('The shared servers did not start.');
    });
    const [started] = (await Promise.race([once(host, 'message'), ended])) as [
      { url: string; origins: string[] },
    ];
    return { process: host, ...started };
  });
}

/** Keeps this process alive only while the host works on a request. */
async function hold<Result>(host: ChildProcess, work: () => Promise<Result>): Promise<Result> {
  host.ref();
  host.channel!.ref();
  try {
    return await work();
  } finally {
    host.unref();
    host.channel!.unref();
  }
}
