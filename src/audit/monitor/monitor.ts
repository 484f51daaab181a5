import { readFile } from 'node:fs/promises';
import { type Checkpoint, leavesOf, openCheckpoint } from '../verify/checkpoint.js';
import { compareBySubtrees } from '../verify/compare.js';
import { replaceFile } from '../durable-file.js';
import { NotAnswered } from '../fetch-answer.js';
import { FalseSuccession } from '../verify/key-chain.js';
import { type LogClient } from './log-client.js';
import { NotAuthentic } from '../verify/note.js';
import { Tree } from '../verify/tree.js';

/** What a look at a server found. */
export type Look =
  /** Nothing that contradicts what was seen before; `new` where it was remembered. */
  | { isAlarm: false; isNew: boolean; checkpoint: Checkpoint }
  /** The notes that contradict each other, the first one seen before; nothing was remembered. */
  | { isAlarm: true; sentence: string; notes: readonly string[] };

/**
 * Looks from outside whether the history that a server shows goes on from the one that it showed before. What was seen last is
 * a checkpoint in a file, which `history consistency` and `history verify` take as well.
 */
export class Monitor {
  /** @param key the verifier key of the server, or one whose place that has taken; `file` need not be there. */
  constructor(
    private readonly client: LogClient,
    private readonly organizationId: string,
    private readonly key: string,
    private readonly file: string,
  ) {}

  /**
   * @throws NotAnswered where nothing could be compared: asked again, the server may answer. Anything else where the file
   *   cannot be read or written.
   */
  async look(): Promise<Look> {
    const before = await this.remembered();
    const note = await this.client.checkpoint();
    const shown = await this.open(note);
    const notes = before ? [before.note, note] : [note];
    const leaves = leavesOf(shown);
    const alarm = (sentence: string): Look => ({ isAlarm: true, sentence, notes });
    if (before && shown.size < before.seen.size) {
      return alarm(
        `The server shows a history of ${shown.size} ${leaves}, but showed one of ${before.seen.size} before. It ` +
          'was rolled back, or it shows different histories to different people.',
      );
    }
    if (before?.seen.size === shown.size) {
      if (before.seen.root.equals(shown.root)) return { isAlarm: false, isNew: false, checkpoint: shown };
      return alarm(`The server has signed two different histories of ${shown.size} ${leaves}.`);
    }
    const outcome = await compareBySubtrees(
      before?.seen ?? NOTHING,
      shown,
      this.client.subtreesOf(shown.size),
    );
    if (outcome === 'forked') {
      return alarm(
        `The history of ${shown.size} ${leaves} that the server shows does not begin with the ${before!.seen.size} ${leaves} that it ` +
          'showed before. It has signed two histories.',
      );
    }
    if (outcome === 'unproved') {
      return alarm('The server’s tiles do not match its checkpoint. They are damaged or were manipulated.');
    }
    await replaceFile(this.file, note);
    return { isAlarm: false, isNew: true, checkpoint: shown };
  }

  /** What was seen last. @throws where it is damaged: to forget it would let the server begin anew. */
  private async remembered(): Promise<{ note: string; seen: Checkpoint } | undefined> {
    const note = await readFile(this.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (note === undefined) return undefined;
    try {
      return { note, seen: await this.read(note) };
    } catch (error) {
      if (error instanceof FalseSuccession) throw new NotAnswered(error.message);
      if (!(error instanceof NotAuthentic)) throw error;
      const what = `${this.file} is damaged. Restore it from a backup, and do not delete it`;
      throw new Error(`${what} (${error.message})`, { cause: error });
    }
  }

  private async read(note: string): Promise<Checkpoint> {
    const checkpoint = await openCheckpoint(note, this.key, () => this.client.successions());
    if (checkpoint.organizationId === this.organizationId) return checkpoint;
    throw new NotAuthentic(`The checkpoint belongs to organization ${checkpoint.organizationId}.`);
  }

  private async open(note: string): Promise<Checkpoint> {
    try {
      return await this.read(note);
    } catch (error) {
      // A stranger between may answer anything: without a signature it is no evidence.
      if (error instanceof NotAuthentic) {
        throw new NotAnswered(`the server shows no checkpoint signed with its key. ${error.message}`);
      }
      throw error;
    }
  }
}

/** The tree without a leaf. */
const NOTHING = { size: 0, root: new Tree().root() };
