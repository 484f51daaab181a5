import { type Batch } from './batch.js';
import { type Checkpoint, openCheckpoint } from './checkpoint.js';
import { wholeLines } from './export-file.js';
import { type Succession } from './key-chain.js';
import { NotAuthentic } from './note.js';
import { decode, HASH, hexSha256, toBase64 } from './platform.js';
import { Tree } from './tree.js';
import { type Registered, type Verdict } from './verdict.js';

/** The register of checkpoints: docs/spec/history-format.md, "The register of checkpoints". */

/** The reserved organization whose history is the register. */
const REGISTER = '00000000-0000-0000-0000-000000000001';

/** Hexadecimal hashes. */
type Entry = { previous: string; size: string; root: string };

/** A verified register. Entries by their `previous`. */
export type Register = { checkpoint: Checkpoint; entries: ReadonlyMap<string, Entry> };

/** Every line with entries contains this, because member names have only one spelling. */
const MARK = '"type":"CheckpointsRegistered"';

/**
 * Reads the entries of a verified export of the register.
 *
 * @param note the checkpoint that the export was verified with.
 * @throws NotAuthentic if two entries contradict each other, or one is malformed.
 */
export async function openRegister(
  chunks: AsyncIterable<Uint8Array>,
  note: string,
  key: string,
  successions?: () => Promise<readonly Succession[]>,
): Promise<Register> {
  const checkpoint = await openCheckpoint(note, key, successions);
  if (checkpoint.organizationId !== REGISTER)
    throw new NotAuthentic(
      `The checkpoint of the register belongs to ${checkpoint.organizationId}.`,
      'register',
    );
  const entries = new Map<string, Entry>();
  for await (const piece of wholeLines(chunks)) {
    if (typeof piece === 'string') break;
    for (const text of (decode(piece) ?? '').split('\n')) {
      if (!text.includes(MARK)) continue;
      const { position, type, data } = JSON.parse(text) as {
        position: number;
        type: string;
        data: { checkpoints?: unknown };
      };
      if (type !== 'CheckpointsRegistered' || position > checkpoint.position) continue;
      for (const entry of Array.isArray(data.checkpoints) ? (data.checkpoints as unknown[]) : [undefined]) {
        if (!isEntry(entry))
          throw new NotAuthentic(`The register has a malformed entry at position ${position}.`, 'register');
        if (entries.has(entry.previous)) {
          throw new NotAuthentic(
            `The register has two entries after the same one, the second at position ${position}. ` +
              'The server has registered two histories of one organization.',
            'register',
          );
        }
        entries.set(entry.previous, entry);
      }
    }
  }
  return { checkpoint, entries };
}

function isEntry(entry: unknown): entry is Entry {
  const { previous, size, root } = (entry ?? {}) as Record<string, unknown>;
  return [previous, size, root].every((value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value));
}

/** Follows an organization's entries through its history. */
export class RegisteredHistory {
  private readonly tree = new Tree();
  private next: Entry | undefined;
  private upTo = 0;
  private mistake: string | undefined;

  constructor(
    private readonly register: Register,
    private readonly organizationId: string,
  ) {
    this.next = this.after(0);
  }

  /** Passes the events on, and compares the history with the entries. */
  async *through(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    for await (const batch of batches) {
      for (let n = 0; n < batch.count && this.next; n += 1) {
        this.append(batch.leaves.subarray(n * HASH, (n + 1) * HASH));
      }
      yield batch;
    }
  }

  /** The verdict on a history that matches its own checkpoint. */
  judge(verdict: Verdict, { size }: Checkpoint): Verdict {
    const { sealedAt, size: events } = this.register.checkpoint;
    const registered: Registered = { events, sealedAt, upTo: this.upTo };
    const uncovered =
      this.upTo < size
        ? `The register does not cover the checkpoint: it contains the first ${this.upTo} of ${size} events of the organization. ` +
          'Export both again a minute later.'
        : undefined;
    const reason = this.mistake ?? uncovered;
    return {
      ...verdict,
      ...(verdict.ok && reason !== undefined && { ok: false, code: 'register', reason }),
      checkpoint: verdict.checkpoint && { ...verdict.checkpoint, register: registered },
    };
  }

  private append(leaf: Uint8Array): void {
    const { tree, next } = this;
    tree.append(leaf);
    if (this.hashOf('size', tree.size) !== next!.size) return;
    if (this.hashOf('root', toBase64(tree.root())) === next!.root) {
      this.upTo = tree.size;
      this.next = this.after(tree.size);
      return;
    }
    this.mistake =
      `The register contains another history of the first ${tree.size} events of this organization. ` +
      'The server has signed two histories.';
    this.next = undefined;
  }

  private after(size: number): Entry | undefined {
    return this.register.entries.get(this.hashOf('previous', size));
  }

  private hashOf(field: keyof Entry, value: number | string): string {
    return hexSha256(`advocacy-api register ${field}\n${this.organizationId}\n${value}\n`);
  }
}
