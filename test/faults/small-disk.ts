import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Enough for the cluster and its WAL, and little of the machine's memory. */
const SIZE = '640m';

/** An in-memory file system that can be filled, or an ordinary directory if mounting is not allowed. */
export class SmallDisk {
  private constructor(
    readonly directory: string,
    /** Why it cannot be filled, or undefined if it can. */
    readonly problem: string | undefined,
  ) {}

  static async mount(): Promise<SmallDisk> {
    const directory = await mkdtemp(join(tmpdir(), 'disk-'));
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', directory]);
    } catch (error) {
      return new SmallDisk(directory, `no tmpfs can be mounted (${(error as Error).message.trim()})`);
    }
    return new SmallDisk(directory, undefined);
  }

  /** Writes until the disk is full. Concurrent writers have no space left. */
  async fill(): Promise<void> {
    await run('dd', ['if=/dev/zero', `of=${this.ballast}`, 'bs=1M']).catch((error: Error) => {
      if (!error.message.includes('No space left')) throw error;
    });
  }

  async empty(): Promise<void> {
    await rm(this.ballast, { force: true });
  }

  async unmount(): Promise<void> {
    if (this.problem === undefined) await run('umount', ['--lazy', this.directory]);
    await rm(this.directory, { recursive: true, force: true });
  }

  private get ballast(): string {
    return join(this.directory, 'ballast');
  }
}
