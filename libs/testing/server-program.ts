import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { killAtExit } from './kill-at-exit.js';

/** A program that serves on a port of 127.0.0.1. It can be killed and started again. */
export class ServerProgram {
  private child: ChildProcess | undefined;
  private release: (() => void) | undefined;

  constructor(
    private readonly program: string,
    private readonly args: readonly string[],
    private readonly port: number,
  ) {}

  /** Resolves when it accepts connections. */
  async start(): Promise<void> {
    const child = spawn(this.program, this.args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.child = child;
    let output = '';
    child.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
    child.once('error', (error) => (output += error.message));
    this.release = killAtExit(() => void child.kill('SIGKILL'));
    for (let attempt = 0; attempt < 600; attempt += 1) {
      if (await acceptsConnections(this.port)) return;
      if (child.exitCode !== null || child.pid === undefined) break;
      await sleep(50);
    }
    throw new Error(`${this.program} does not serve: ${output}`);
  }

  async stop(): Promise<void> {
    this.release?.();
    const { child } = this;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
