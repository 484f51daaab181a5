import { RedisNode } from './redis-nodes.js';

export type RedisServer = {
  url: string;
  port: number;
  /** Kills the server like a crash. Its data is lost. */
  stop(): Promise<void>;
  /** The server keeps its connections, but does not respond until {@link RedisServer.resume}. */
  freeze(): void;
  resume(): void;
};

/**
 * Starts a real redis-server, empty and without persistence, on 127.0.0.1. Resolves when it responds.
 *
 * @param port by default, a free one. Pass the port of a stopped server to start one in its place.
 */
export async function startRedis(port?: number): Promise<RedisServer> {
  const node = await (await RedisNode.create([], '', port)).start();
  return {
    url: `redis://${node.address}`,
    port: node.port,
    stop: () => node.remove(),
    freeze: () => node.send('SIGSTOP'),
    resume: () => node.send('SIGCONT'),
  };
}
