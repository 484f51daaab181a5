import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as PgClient } from 'pg';
import {
  findFreePort,
  findProgram,
  type Haproxy,
  type PgBouncer,
  type PostgresServer,
  type RedisServer,
  type SilentProxy,
  startHaproxy,
  startPgBouncer,
  startPostgres,
  startRedis,
  startSilentProxy,
} from '#libs/testing';
import { Client } from '../harness.js';
import { type ReleaseBuild } from '../releases.js';
import { Deployment, type Environment, eventually, ServerProcess } from '../processes.js';
import { type Found } from './checker.js';
import { SmallDisk } from './small-disk.js';
import { type Caller } from './load.js';

const INSTANCES = 3;
const SETTINGS = { max_connections: 100, max_wal_size: '96MB', min_wal_size: '32MB', fsync: 'off' };

/** The connection of the instances to PostgreSQL. */
export type Route = 'direct' | 'proxy' | 'pgbouncer';

/** A server process that keeps its port after a restart. */
export class Instance {
  private server: ServerProcess | undefined;
  private seen = 0;

  constructor(
    readonly port: number,
    private readonly environment: () => Environment,
  ) {}

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get isUp(): boolean {
    return this.server !== undefined;
  }

  /**
   * Resolves when it listens.
   *
   * @param environment in addition to that of all instances
   * @param build runs another version
   */
  async start(environment: Environment = {}, build?: ReleaseBuild): Promise<void> {
    const all = { ...this.environment(), ...environment, PORT: String(this.port) };
    this.server = build === undefined ? new ServerProcess(all) : await build.start(all);
    this.seen = 0;
    await this.server.listening();
  }

  /** Resolves when it has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { server } = this;
    this.server = undefined;
    await server?.end(signal);
  }

  freeze(): void {
    this.server?.send('SIGSTOP');
  }

  resume(): void {
    this.server?.send('SIGCONT');
  }

  /** The failures that it logged since it started or {@link Instance.forget} was called. */
  get failures(): string[] {
    const log = this.server?.log.slice(this.seen) ?? [];
    return log
      .filter(({ level }) => level === 'error' || level === 'fatal')
      .map(({ message, code, reason }) => `${message} ${code ?? ''} ${reason ?? ''}`);
  }

  forget(): void {
    this.seen = this.server?.log.length ?? 0;
  }
}

/** Instances of the product with their own PostgreSQL, Redis and proxies, which tests may break. */
export class Installation {
  private constructor(
    readonly postgres: PostgresServer,
    private redisServer: RedisServer,
    private deployment: Deployment,
    readonly proxy: SilentProxy,
    readonly pgbouncer: PgBouncer | undefined,
    readonly haproxy: Haproxy | undefined,
    readonly instances: readonly Instance[],
    readonly disk: SmallDisk,
  ) {}

  private route: Route = 'direct';

  static async start(): Promise<Installation> {
    const disk = await SmallDisk.mount();
    const postgres = await startPostgres({ directory: disk.directory, settings: SETTINGS });
    const redis = await startRedis();
    const deployment = await Deployment.create(postgres.applicationUrl);
    const { url } = deployment.database;
    const pgbouncerProgram = findProgram('pgbouncer');
    const pgbouncer =
      pgbouncerProgram === undefined ? undefined : await startPgBouncer(pgbouncerProgram, url);
    const ports = await Promise.all(Array.from({ length: INSTANCES }, findFreePort));
    const haproxyProgram = findProgram('haproxy');
    const haproxy = haproxyProgram === undefined ? undefined : await startHaproxy(haproxyProgram, ports);
    const all: Instance[] = [];
    const proxy = await startSilentProxy(url);
    const installation = new Installation(postgres, redis, deployment, proxy, pgbouncer, haproxy, all, disk);
    all.push(...ports.map((port) => new Instance(port, () => installation.environment)));
    return installation;
  }

  /**
   * Replaces the database with one of an earlier version, and runs instances of that version.
   *
   * @param dump of the database (`stored-databases.ts`)
   */
  async goBack(dump: string, build: ReleaseBuild): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.end('SIGKILL')));
    await this.deployment.database.source.destroy();
    this.deployment = await Deployment.create(this.postgres.applicationUrl, dump);
    this.route = 'direct';
    await Promise.all(this.instances.map((instance) => instance.start({}, build)));
  }

  /** Resolves when haproxy routes requests to every instance. */
  async untilBalanced(): Promise<void> {
    await eventually(async () => {
      for (const n of this.instances.keys()) expect([n, await this.haproxy!.isReady(n)]).toEqual([n, true]);
    });
  }

  get redis(): RedisServer {
    return this.redisServer;
  }

  /** @param ms the downtime */
  async restartRedis(ms: number): Promise<void> {
    const { port } = this.redis;
    await this.redis.stop();
    await sleep(ms);
    this.redisServer = await startRedis(port);
  }

  async emptyRedis(): Promise<void> {
    const client = new Redis(this.redis.url);
    await client.flushall();
    client.disconnect();
  }

  get environment(): Environment {
    const urls = {
      direct: this.deployment.database.url,
      proxy: this.proxy.url,
      pgbouncer: this.pgbouncer?.url ?? '',
    };
    return {
      ...this.deployment.environment,
      DATABASE_URL: urls[this.route],
      REDIS_URL: this.redis.url,
      SHUTDOWN_DELAY: '3',
    };
  }

  /** Resolves when all instances run with this connection to the database. */
  async ready(route: Route): Promise<void> {
    const isOther = route !== this.route;
    this.route = route;
    await Promise.all(
      this.instances.map(async (instance) => {
        if (isOther) await instance.end('SIGKILL');
        if (!instance.isUp) await instance.start();
      }),
    );
  }

  /** A new organization. Its key has a rate limit, because an unlimited key would never use Redis. */
  async caller(): Promise<Caller> {
    const { organizationId, key } = await this.deployment.organization(1_000_000);
    const caller = { organizationId, key: key! };
    return { ...caller, records: await this.makeRecords(caller) };
  }

  /** A petition and a list of the caller's organization. */
  async makeRecords({ organizationId, key }: Caller): Promise<Required<Caller>['records']> {
    const client = new Client(this.instances[0]!.origin, organizationId, key);
    const ask = async (operation: string, body: object) => {
      const answer = await client.post(operation, { organizationId, ...body });
      expect([operation, answer.status]).toEqual([operation, 200]);
      return answer.body.data;
    };
    let petitionId!: string;
    // Every instance accepts the key within a second.
    await eventually(async () => {
      ({ petitionId } = await ask('petition.create-petition', { name: 'The petition' }));
    });
    await ask('petition.publish-petition', { petitionId });
    const { listId } = await ask('list.create-list', { name: 'The list' });
    return { petitionId, listId };
  }

  /** The records of the caller's organization, read through the API, and its exported history. */
  async find({ organizationId, key, records }: Caller): Promise<Found & { exported: string }> {
    const { petitionId, listId } = records!;
    const client = new Client(this.instances.at(-1)!.origin, organizationId, key);
    const get = async (operation: string, query: Record<string, string> = {}) => {
      let body: any;
      await eventually(async () => {
        const answer = await client.get(operation, query);
        expect([operation, answer.status]).toEqual([operation, 200]);
        ({ body } = answer);
      });
      return body;
    };
    const linesOf = (text: string) =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    const exported: string = await get('event.export-events');
    const events = linesOf(exported).filter(({ streamId }) => streamId !== petitionId && streamId !== listId);
    return {
      exported,
      events,
      contacts: linesOf(await get('contact.export-contacts')),
      petition: (await get('petition.get-petition', { petitionId })).data,
      list: (await get('list.get-list', { listId })).data,
    };
  }

  /** The distinct failures that the instances logged since {@link Instance.forget}. */
  get failures(): string[] {
    return [...new Set(this.instances.flatMap(({ failures }) => failures))];
  }

  /** A connection of the superuser to the product's database. */
  async connect(): Promise<PgClient> {
    const url = Object.assign(new URL(this.postgres.url), {
      pathname: new URL(this.deployment.database.url).pathname,
    });
    const client = new PgClient({ connectionString: url.href });
    // A fault may cut this connection.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async stop(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.end('SIGKILL')));
    await this.proxy.close();
    await this.pgbouncer?.remove();
    await this.haproxy?.remove();
    await this.redis.stop();
    await this.deployment.database.source.destroy();
    await this.postgres.remove();
    await this.disk.unmount();
  }
}
