import {
  areSame,
  type Checkpoint,
  eventOf,
  leafHash,
  linesOf,
  NotAuthentic,
  parseLine,
  REGISTER,
  RegisterEntries,
  Tree,
  Truncated,
  WrongLine,
} from '#libs/verify';
import { NotAnswered } from '../fetch-answer.js';
import { type LogClient } from './log-client.js';

/** The server records each export, and the checkpoint of that record is registered, too. */
const INTERVAL_MS = 3_600_000;

/** Reads the register as it grows, each event once. Two entries after the same one are evidence against the server. */
export class RegisterReader {
  private readonly entries = new RegisterEntries();
  private readonly tree = new Tree();
  private position = 0;
  private readAt = -Infinity;

  constructor(
    private readonly client: LogClient,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Reads the events that the checkpoint covers, at most once an hour.
   *
   * @returns what is wrong with the register.
   * @throws NotAnswered
   */
  async read({ size, root, position }: Checkpoint): Promise<string | undefined> {
    if (this.tree.size === size || this.now() < this.readAt + INTERVAL_MS) return undefined;
    try {
      for await (const lines of linesOf(this.client.registerAfter(this.position))) {
        for (const text of lines) {
          const event = eventOf(parseLine(text), REGISTER);
          if (event.position > position) break;
          this.tree.append(leafHash(event.position, event.digest));
          this.position = event.position;
          this.entries.add(event);
        }
        if (this.tree.size >= size) break;
      }
    } catch (error) {
      if (error instanceof Truncated) throw new NotAnswered(`the export of the register ${error.message}`);
      if (error instanceof WrongLine) return `A line in the export of the register ${error.message}.`;
      if (error instanceof NotAuthentic) return error.message;
      throw error;
    }
    if (this.tree.size !== size || !areSame(this.tree.root(), root))
      return 'The export of the register does not match its checkpoint. It is damaged or was tampered with.';
    this.readAt = this.now();
    return undefined;
  }
}
