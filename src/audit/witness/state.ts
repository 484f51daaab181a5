import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { headOf, type TreeHead } from '../consistency.js';
import { replaceFile } from '../durable-file.js';

/** A checkpoint, with its whole text. */
type Seen = TreeHead & { text: string };

/**
 * The last checkpoint that a witness has seen of each log. A directory has one file per log with the whole
 * checkpoint, which is evidence if a contradicting one appears. Files survive a crash at any moment. Only one
 * process can use a directory.
 */
export class WitnessState {
  private constructor(private readonly directory: string) {}

  /** Creates the directory if it is missing. */
  static async open(directory: string): Promise<WitnessState> {
    await mkdir(directory, { recursive: true });
    return new WitnessState(directory);
  }

  /** @throws Error if the file cannot be read: ignoring it would let the log start a new history. */
  async read(origin: string): Promise<Seen | undefined> {
    const file = this.fileOf(origin);
    const text = await readIfExists(file);
    if (text === undefined) return undefined;
    const head = headOf(text);
    if (head?.origin === origin) return { size: head.size, root: head.root, text };
    throw new Error(`${file} is damaged. Restore it from a backup, and do not delete it.`);
  }

  /** @param checkpoint begins with origin, size and root. */
  async write(origin: string, checkpoint: string): Promise<void> {
    await replaceFile(this.fileOf(origin), checkpoint);
  }

  /**
   * Keeps two signed checkpoints that contradict each other. Only the first pair of a log, because a log could sign any number
   * of them.
   */
  async keepEvidence(origin: string, checkpoints: readonly [seen: string, shown: string]): Promise<void> {
    const file = this.fileOf(origin, 'contradiction');
    if ((await readIfExists(file)) === undefined) await replaceFile(file, checkpoints.join('\n'));
  }

  /** Hashed, because origins can have any characters and any length. */
  private fileOf(origin: string, kind: 'checkpoint' | 'contradiction' = 'checkpoint'): string {
    return join(this.directory, `${createHash('sha256').update(origin).digest('hex')}.${kind}`);
  }
}

function readIfExists(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
