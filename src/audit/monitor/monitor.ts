import { readFile } from 'node:fs/promises';
import {
  areSame,
  type Checkpoint,
  FalseSuccession,
  NotAuthentic,
  openCheckpoint,
  REGISTER,
  Tree,
} from '#libs/verify';
import { compareBySubtrees } from '../compare.js';
import { contradictionOf, isAhead, leavesOf } from '../consistency.js';
import { replaceFile } from '../durable-file.js';
import { NotAnswered } from '../fetch-answer.js';
import { type LogClient } from './log-client.js';
import { RegisterReader } from './register-reader.js';

/** The result of a check. */
export type Look =
  /** Consistent with what was seen before. `isNew`: the checkpoint was stored. */
  | { isAlarm: false; isNew: boolean; checkpoint: Checkpoint }
  /** The notes that contradict each other, the earlier one first. Nothing was stored. */
  | { isAlarm: true; sentence: string; notes: readonly string[] };

/**
 * Checks from outside that a server's history extends the one it showed before, and that the register does not
 * contradict itself. The last checkpoint is in a file, which `history consistency` and `history verify` also accept.
 */
export class Monitor {
  private readonly register: RegisterReader | undefined;

  /**
   * @param key the server's verifier key, or an earlier one that it replaced.
   * @param file may not exist yet.
   */
  constructor(
    private readonly client: LogClient,
    private readonly organizationId: string,
    private readonly key: string,
    private readonly file: string,
  ) {
    if (organizationId === REGISTER) this.register = new RegisterReader(client);
  }

  /**
   * @throws NotAnswered if there was nothing to compare; a retry may succeed. Other errors mean that the file
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
    const accept = async (isNew: boolean): Promise<Look> => {
      if (isAhead(shown, Date.now()))
        throw new NotAnswered(
          `the server dates its checkpoint in the future: ${shown.sealedAt}. Compare the clocks`,
        );
      const mistake = await this.register?.read(shown);
      if (mistake !== undefined)
        return alarm(`${mistake} Export the register now: it is part of the evidence.`);
      if (isNew) await replaceFile(this.file, note);
      return { isAlarm: false, isNew, checkpoint: shown };
    };
    const contradiction = before && contradictionOf(before.seen, shown);
    if (before?.seen.size === shown.size) {
      if (areSame(before.seen.root, shown.root)) {
        if (contradiction !== undefined) return alarm(`${CONTRADICTING}: ${contradiction}.`);
        return accept(false);
      }
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
      return alarm('The server’s tiles do not match its checkpoint. They are damaged or were tampered with.');
    }
    if (contradiction !== undefined) return alarm(`${CONTRADICTING}: ${contradiction}.`);
    return accept(true);
  }

  /**
   * The last checkpoint.
   *
   * @throws Error if the file is damaged: ignoring it would let the server start a new history.
   */
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
      // Anyone between the two can return anything. Without a signature, it is not evidence.
      if (error instanceof NotAuthentic) {
        throw new NotAnswered(`the server shows no checkpoint signed with its key. ${error.message}`);
      }
      throw error;
    }
  }
}

const CONTRADICTING = 'The server has signed checkpoints that contradict each other';
/** The empty tree. */
const NOTHING = { size: 0, root: new Tree().root() };
