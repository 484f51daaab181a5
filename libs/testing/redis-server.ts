import { RedisNode } from './redis-nodes.js';

export type RedisServer = {
  url: string;
  port: number;
  /** Kills the server, as a crash would; what it held is gone. */
  stop(): Promise<void>;
  /** The server keeps its connections but answers nothing until {@link RedisServer.resume}. */
  freeze(): void;
  resume(): void;
};

/**
 * Starts a real redis-server, empty and without persistence, on 127.0.0.1. Resolves when it answers.
 *
 * @param port a free one when left out; given, a stopped server can be started again where it was
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
