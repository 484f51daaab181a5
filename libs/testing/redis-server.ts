import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './ports.js';

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
  const chosen = port ?? (await findFreePort());
  const directory = await mkdtemp(join(tmpdir(), 'redis-'));
  const options = [
    '--port',
    chosen,
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    directory,
  ];
  const server = spawn('redis-server', options.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
  const killWithParent = () => void server.kill('SIGKILL');
  process.once('exit', killWithParent);
  await answers(server);
  return {
    url: `redis://127.0.0.1:${chosen}`,
    port: chosen,
    async stop() {
      process.off('exit', killWithParent);
      if (server.exitCode === null && server.signalCode === null) {
        const exited = once(server, 'exit');
        server.kill('SIGKILL');
        await exited;
      }
      await rm(directory, { recursive: true, force: true });
    },
    freeze: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
  };
}

function answers(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${log}`)));
    // Read to the end: a full pipe would stop the server.
    server.stdout?.on('data', (chunk: Buffer) => {
      if (log.includes('Ready to accept connections')) return;
      log += chunk.toString();
      if (log.includes('Ready to accept connections')) resolve();
    });
  });
}
