import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { killAtExit } from './kill-at-exit.js';
import { findFreePort } from './ports.js';

const SLOTS = 16_384;
/** Milliseconds after which the other nodes consider a node failed. */
const NODE_TIMEOUT = 1_000;

/** A redis-server on 127.0.0.1 that can be killed and started again on the same port with its data. */
export class RedisNode {
  private server: ChildProcess | undefined;
  private client: Redis | undefined;

  private constructor(
    readonly port: number,
    /** The port on which the nodes of a cluster communicate. */
    readonly busPort: number,
    private readonly directory: string,
    private readonly options: readonly string[],
  ) {}

  /**
   * @param configuration the contents of redis.conf
   * @param given the port to use; by default, any free one
   */
  static async create(
    options: readonly string[] = [],
    configuration = '',
    given?: number,
  ): Promise<RedisNode> {
    const [free, busPort] = [await findFreePort(), await findFreePort()];
    const port = given ?? free;
    const directory = await mkdtemp(join(tmpdir(), 'redis-'));
    // A sentinel stores its state in its configuration file.
    const file = join(directory, 'redis.conf');
    await writeFile(file, configuration);
    const own = [
      '--port',
      port,
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    const bus = options.includes('--cluster-enabled') ? ['--cluster-port', busPort] : [];
    return new RedisNode(port, busPort, directory, [
      file,
      ...own.map(String),
      ...bus.map(String),
      ...options,
    ]);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    const server = spawn('redis-server', this.options, { stdio: ['ignore', 'pipe', 'inherit'] });
    server.once(
      'exit',
      killAtExit(() => void server.kill('SIGKILL')),
    );
    server.stdout.resume();
    await once(server, 'spawn');
    this.server = server;
    for (;;) {
      if (server.exitCode !== null) throw new Error(`redis-server ended with ${server.exitCode}`);
      if ((await this.ask('PING').catch(() => '')) === 'PONG') break;
      await sleep(20);
    }
    this.disconnect();
    return this;
  }

  send(signal: NodeJS.Signals): void {
    this.server?.kill(signal);
  }

  /** Kills it like a crash. */
  async kill(): Promise<void> {
    this.disconnect();
    const { server } = this;
    this.server = undefined;
    if (server?.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }

  private disconnect(): void {
    this.client?.disconnect();
    this.client = undefined;
  }

  /** Resolves when its INFO contains this text. Reconnects if the connection is lost. */
  async says(text: string): Promise<void> {
    while (!String(await this.ask('INFO', 'everything').catch(() => '')).includes(text)) await sleep(20);
  }

  /** Sends a command. @returns the reply */
  async ask(command: string, ...args: (string | number)[]): Promise<unknown> {
    if (this.client?.status === 'end') this.client = undefined;
    if (!this.client) {
      this.client = new Redis(this.port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
      this.client.on('error', () => undefined);
    }
    return this.client.call(command, ...args);
  }
}

/** The nodes of a Redis Cluster. The first are masters, each with an equal share of the slots; the others are their replicas. */
export class RedisCluster {
  private constructor(readonly nodes: readonly RedisNode[]) {}

  /** @param replicas their number. Each of the first masters gets one. */
  static async start(masters: number, replicas = 0): Promise<RedisCluster> {
    const nodes = await Promise.all(
      Array.from({ length: masters + replicas }, async () => {
        const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(NODE_TIMEOUT)];
        return (await RedisNode.create(options)).start();
      }),
    );
    const cluster = new RedisCluster(nodes);
    const part = Math.ceil(SLOTS / masters);
    for (const [index, node] of nodes.entries()) {
      await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      const own = Array.from({ length: SLOTS }, (_, slot) => slot).slice(index * part, (index + 1) * part);
      if (index < masters) await node.ask('CLUSTER', 'ADDSLOTS', ...own);
      if (index > 0) await node.ask('CLUSTER', 'MEET', '127.0.0.1', nodes[0]!.port, nodes[0]!.busPort);
    }
    await cluster.settled();
    for (const [index, replica] of nodes.slice(masters).entries()) {
      await replica.ask('CLUSTER', 'REPLICATE', await cluster.idOf(nodes[index]!));
    }
    for (const replica of nodes.slice(masters)) {
      await replica.says('master_link_status:up');
    }
    return cluster;
  }

  get url(): string {
    return `redis://${this.nodes.map(({ address }) => address).join()}`;
  }

  /** Resolves when these nodes, by default all, know every node and report the cluster state `ok`. */
  async settled(nodes = this.nodes): Promise<void> {
    const isSettled = async (node: RedisNode) => {
      const info = String(await node.ask('CLUSTER', 'INFO').catch(() => ''));
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${this.nodes.length}`);
    };
    for (const node of nodes) while (!(await isSettled(node))) await sleep(20);
  }

  async idOf(node: RedisNode): Promise<string> {
    return String(await node.ask('CLUSTER', 'MYID'));
  }

  /**
   * Moves a slot while clients use it. It stays in migration for `pauseMs` before and after its keys move. During that time, the old
   * node redirects clients with ASK for keys that it no longer has.
   */
  async moveSlot(slot: number, from: RedisNode, to: RedisNode, pauseMs = 0): Promise<void> {
    const [fromId, toId] = [await this.idOf(from), await this.idOf(to)];
    await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
    await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
    await sleep(pauseMs);
    for (;;) {
      const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
      if (keys.length === 0) break;
      await from.ask('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'REPLACE', 'KEYS', ...keys);
    }
    await sleep(pauseMs);
    for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
  }
}

/** Milliseconds after which a sentinel aborts a failover. */
const FAILOVER_TIMEOUT = 5_000;

/** A master, its replica, and a sentinel that promotes the replica if the master fails. */
export class RedisSentinel {
  private constructor(
    readonly sentinel: RedisNode,
    readonly nodes: readonly [RedisNode, RedisNode],
  ) {}

  static async start(): Promise<RedisSentinel> {
    const master = await (await RedisNode.create()).start();
    const replica = await (await RedisNode.create(['--replicaof', `127.0.0.1 ${master.port}`])).start();
    await replica.says('master_link_status:up');
    const sentinel = await RedisNode.create(
      ['--sentinel'],
      [
        `sentinel monitor limits 127.0.0.1 ${master.port} 1`,
        `sentinel down-after-milliseconds limits ${NODE_TIMEOUT}`,
        `sentinel failover-timeout limits ${FAILOVER_TIMEOUT}`,
        '',
      ].join('\n'),
    );
    await sentinel.start();
    // By default, the sentinel polls the nodes every ten seconds.
    await sentinel.ask('SENTINEL', 'DEBUG', 'INFO-PERIOD', 200);
    const found = new RedisSentinel(sentinel, [master, replica]);
    await sentinel.says('slaves=1');
    return found;
  }

  get url(): string {
    return `redis+sentinel://${this.sentinel.address}/limits`;
  }

  /** The current master, as the sentinel reports it. */
  async master(): Promise<RedisNode> {
    const [, port] = (await this.sentinel.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'limits')) as string[];
    return this.nodes.find((node) => String(node.port) === port)!;
  }

  /** Makes the sentinel fail over while the master is still running. Retries, because failovers can be aborted on a busy machine. */
  async moveMaster(from: RedisNode): Promise<void> {
    while ((await this.master()) === from) {
      const said = await this.sentinel.ask('SENTINEL', 'FAILOVER', 'limits').catch(() => 'not now');
      const end = Date.now() + (said === 'OK' ? 2 * FAILOVER_TIMEOUT : 100);
      while (Date.now() < end && (await this.master()) === from) await sleep(20);
    }
  }

  async stop(): Promise<void> {
    for (const node of [this.sentinel, ...this.nodes]) await node.remove();
  }
}
