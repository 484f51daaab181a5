import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../durable-file.js';
import { headOf, type TreeHead } from '../verify/consistency.js';

/**
 * What a witness has seen last of each log, a file each in a directory, with the whole checkpoint: evidence, should another one
 * turn up. A write survives a crash at any moment. One process a directory.
 */
export class WitnessState {
  private constructor(private readonly directory: string) {}

  /** Makes the directory where it is missing. */
  static async open(directory: string): Promise<WitnessState> {
    await mkdir(directory, { recursive: true });
    return new WitnessState(directory);
  }

  /** @throws where what is there cannot be read: forgetting it would let anybody begin anew. */
  async read(origin: string): Promise<TreeHead | undefined> {
    const file = this.fileOf(origin);
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const head = headOf(text);
    if (head?.origin === origin) return { size: head.size, root: head.root };
    throw new Error(`${file} is damaged. Restore it from a backup, and do not delete it.`);
  }

  /** @param checkpoint begins with the origin, the size and the root. */
  async write(origin: string, checkpoint: string): Promise<void> {
    await replaceFile(this.fileOf(origin), checkpoint);
  }

  /** Origins may have any characters, and any length. */
  private fileOf(origin: string): string {
    return join(this.directory, `${createHash('sha256').update(origin).digest('hex')}.checkpoint`);
  }
}
