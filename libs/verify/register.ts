import { type Checkpoint } from './checkpoint.js';
import { type Event } from './export.js';
import { NotAuthentic } from './note.js';
import { hexSha256, toBase64 } from './platform.js';
import { type Tree } from './tree.js';
import { type Registered } from './verdict.js';

/** The register of checkpoints: docs/spec/history-format.md, "The register of checkpoints". */

/** The reserved organization whose history is the register. */
export const REGISTER = '00000000-0000-0000-0000-000000000001';

const TWO_HISTORIES = 'The server has registered two histories of one organization.';

/** Hexadecimal hashes. */
type Entry = { previous: string; size: string; root: string };

/** The entries of a register, by their `previous`. */
export class RegisterEntries {
  private readonly entries = new Map<string, Entry & { position: number }>();

  /** Adds the entries of an event. @throws NotAuthentic if one is malformed, or contradicts another. */
  add({ type, position, data }: Event): void {
    if (type !== 'CheckpointsRegistered') return;
    const { checkpoints } = data as { checkpoints?: unknown };
    for (const entry of Array.isArray(checkpoints) ? (checkpoints as unknown[]) : [undefined]) {
      if (!isEntry(entry))
        throw new NotAuthentic(`The register has a malformed entry at position ${position}.`, 'register');
      const other = this.entries.get(entry.previous);
      const both = `The register has two entries after the same one, at positions ${other?.position} and ${position}.`;
      if (other) throw new NotAuthentic(`${both} ${TWO_HISTORIES}`, 'register');
      this.entries.set(entry.previous, { ...entry, position });
    }
  }

  after = (previous: string): Entry | undefined => this.entries.get(previous);
}

function isEntry(entry: unknown): entry is Entry {
  const { previous, size, root } = (entry ?? {}) as Record<string, unknown>;
  return [previous, size, root].every((value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value));
}

/** Follows an organization's entries in a register while its tree grows. */
export class RegisteredHistory {
  readonly found: Registered;
  private mistake: string | undefined;
  private next: Entry | undefined;

  constructor(
    private readonly organizationId: string,
    private readonly entries: RegisterEntries,
    { size: events, sealedAt }: Checkpoint,
  ) {
    this.found = { events, sealedAt, upTo: 0 };
    this.next = entries.after(this.hashOf('previous', 0));
  }

  compare(tree: Tree): void {
    const { size } = tree;
    if (!this.next || this.hashOf('size', size) !== this.next.size) return;
    const isSame = this.hashOf('root', toBase64(tree.root())) === this.next.root;
    this.next = isSame ? this.entries.after(this.hashOf('previous', size)) : undefined;
    if (isSame) this.found.upTo = size;
    const other = `The register contains another history of the first ${size} events of this organization.`;
    if (!isSame) this.mistake = `${other} The server has signed two histories.`;
  }

  /** What is wrong with a history whose checkpoint has `size` events. */
  judge(size: number): string | undefined {
    const { upTo } = this.found;
    if (this.mistake !== undefined || upTo >= size) return this.mistake;
    const covered = `it contains the first ${upTo} of ${size} events of the organization`;
    return `The register does not cover the checkpoint: ${covered}. Export both again a minute later.`;
  }

  private hashOf(field: keyof Entry, value: number | string): string {
    return hexSha256(`advocacy-api register ${field}\n${this.organizationId}\n${value}\n`);
  }
}
