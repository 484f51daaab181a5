import { type Checkpoint } from './checkpoint.js';
import { NotAuthentic } from './note.js';
import { decode, hexSha256, toBase64 } from './platform.js';
import { type Tree } from './tree.js';
import { type Registered } from './verdict.js';

/** The register of checkpoints: docs/spec/history-format.md, "The register of checkpoints". */

/** The reserved organization whose history is the register. */
export const REGISTER = '00000000-0000-0000-0000-000000000001';

/** Hexadecimal hashes. */
type Entry = { previous: string; size: string; root: string };

/** Every line with entries contains this, because member names have only one spelling. */
const MARK = '"type":"CheckpointsRegistered"';

/** The entries of a register, by their `previous`. */
export class RegisterEntries {
  private readonly entries = new Map<string, Entry & { position: number }>();

  /**
   * Adds the entries of valid lines.
   *
   * @param upTo the checkpoint's position: entries after it are ignored.
   * @throws NotAuthentic if two entries contradict each other, or one is malformed.
   */
  add(lines: Uint8Array, upTo: number): void {
    for (const text of (decode(lines) ?? '').split('\n')) {
      if (!text.includes(MARK)) continue;
      const line = JSON.parse(text) as { position: number; type: string; data: { checkpoints?: unknown } };
      if (line.type !== 'CheckpointsRegistered' || line.position > upTo) continue;
      const { checkpoints } = line.data;
      for (const entry of Array.isArray(checkpoints) ? (checkpoints as unknown[]) : [undefined])
        this.addEntry(entry, line.position);
    }
  }

  after(previous: string): Entry | undefined {
    return this.entries.get(previous);
  }

  private addEntry(entry: unknown, position: number): void {
    if (!isEntry(entry))
      throw new NotAuthentic(`The register has a malformed entry at position ${position}.`, 'register');
    const { previous, size, root } = entry;
    const other = this.entries.get(previous);
    if (other) {
      throw new NotAuthentic(
        `The register has two entries after the same one, at positions ${other.position} and ${position}. ` +
          'The server has registered two histories of one organization.',
        'register',
      );
    }
    this.entries.set(previous, { previous, size, root, position });
  }
}

function isEntry(entry: unknown): entry is Entry {
  const { previous, size, root } = (entry ?? {}) as Record<string, unknown>;
  return [previous, size, root].every((value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value));
}

/** Follows an organization's entries in a register while its tree grows. */
export class RegisteredHistory {
  private upTo = 0;
  private mistake: string | undefined;
  private next: Entry | undefined;

  constructor(
    private readonly organizationId: string,
    private readonly entries: RegisterEntries,
    private readonly register: Checkpoint,
  ) {
    this.next = this.after(0);
  }

  /** Compares the tree with the next entry, if it is that of this size. */
  compare(tree: Tree): void {
    if (!this.next || this.hashOf('size', tree.size) !== this.next.size) return;
    if (this.hashOf('root', toBase64(tree.root())) === this.next.root) {
      this.upTo = tree.size;
      this.next = this.after(tree.size);
      return;
    }
    this.mistake =
      `The register contains another history of the first ${tree.size} events of this organization. ` +
      'The server has signed two histories.';
    this.next = undefined;
  }

  /** What the entries prove of a history whose checkpoint has `size` events, and what is wrong with it. */
  judge(size: number): { registered: Registered; mistake: string | undefined } {
    const { upTo, register } = this;
    const uncovered =
      `The register does not cover the checkpoint: it contains the first ${upTo} of ${size} events of the organization. ` +
      'Export both again a minute later.';
    const registered = { events: register.size, sealedAt: register.sealedAt, upTo };
    return { registered, mistake: this.mistake ?? (upTo < size ? uncovered : undefined) };
  }

  private after(size: number): Entry | undefined {
    return this.entries.after(this.hashOf('previous', size));
  }

  private hashOf(field: keyof Entry, value: number | string): string {
    return hexSha256(`advocacy-api register ${field}\n${this.organizationId}\n${value}\n`);
  }
}
