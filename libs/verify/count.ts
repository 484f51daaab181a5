import { newBatch } from './batch.js';
import { type Checkpoint, openCheckpoint } from './checkpoint.js';
import { wholeLines } from './export-file.js';
import { checkLine } from './lines.js';
import { NotAuthentic } from './note.js';
import { areSame, decode, hashOf } from './platform.js';
import { Tree } from './tree.js';
import { againstOf, type Against } from './verdict.js';

/** The count certificate of a petition: docs/spec/history-format.md, "Count certificate". */

/** The types of the events that change the number of signatures. */
export const COUNTED = [
  'PetitionSigned',
  'SignatureMoved',
  'SignatureWithdrawn',
  'SignaturesInvalidated',
  'SignaturesRestored',
];

/** `signatures`: the valid ones. Invalidated ones that were withdrawn are only `withdrawn`. */
export type Count = { signatures: number; withdrawn: number; invalidated: number };

type Counted = { type: string; streamId: string; version: number; data: Record<string, unknown> };

/** Counts the valid signatures of a petition by its events in order. */
export class SignatureCount {
  private readonly streams = new Map<string, { version: number; isWithdrawn: boolean; isInvalid: boolean }>();
  private readonly others = new Map<string, number>();

  constructor(private readonly petitionId: string) {}

  /** @returns what is wrong with the event. */
  add({ type, streamId, version, data }: Counted): string | undefined {
    if (data.petitionId !== this.petitionId) return 'belongs to another petition';
    const isInvalid = type === 'SignaturesInvalidated';
    if (isInvalid || type === 'SignaturesRestored') {
      if (version !== (this.others.get(streamId) ?? 0) + 1)
        return `has version ${version}: an event before is missing`;
      this.others.set(streamId, version);
      const { signatureIds } = data;
      if (!Array.isArray(signatureIds)) return 'has no signatureIds';
      for (const id of signatureIds as unknown[]) {
        const signature = this.streams.get(String(id));
        if (!signature) return `names the signature ${String(id)}, which is missing`;
        signature.isInvalid = isInvalid;
      }
      return undefined;
    }
    const before = this.streams.get(streamId);
    if (version !== (before?.version ?? 0) + 1) return `has version ${version}: an event before is missing`;
    if (!before !== (type === 'PetitionSigned')) return 'is not an event that can follow in this signature';
    const isWithdrawn = before?.isWithdrawn === true || type === 'SignatureWithdrawn';
    this.streams.set(streamId, { version, isWithdrawn, isInvalid: before?.isInvalid ?? false });
    return undefined;
  }

  result(): Count {
    const count = { signatures: 0, withdrawn: 0, invalidated: 0 };
    for (const { isWithdrawn, isInvalid } of this.streams.values()) {
      count[isWithdrawn ? 'withdrawn' : isInvalid ? 'invalidated' : 'signatures'] += 1;
    }
    return count;
  }
}

/** The result of verifying a count certificate. The counts are null if it proves nothing. */
export type CountVerdict = {
  ok: boolean;
  organizationId: string | null;
  petitionId: string | null;
  count: Count | null;
  /** Why it proves nothing. */
  reason: string | null;
  checkpoint: Against | null;
};

/** Verifies a count certificate. @throws Error if it cannot be read. */
export async function verifyCount(chunks: AsyncIterable<Uint8Array>, key: string): Promise<CountVerdict> {
  const verdict: CountVerdict = {
    ...{ ok: false, organizationId: null, petitionId: null, count: null, reason: null, checkpoint: null },
  };
  try {
    const certificate = new Certificate(key);
    for await (const piece of wholeLines(chunks)) {
      const text = typeof piece === 'string' ? undefined : decode(piece);
      if (text === undefined) throw new NotAuthentic('The certificate is incomplete, or not a text.');
      for (const line of text.slice(0, -1).split('\n')) await certificate.read(line);
    }
    const count = certificate.end();
    const { organizationId, petitionId, checkpoint } = certificate.head!;
    return { ...verdict, ok: true, organizationId, petitionId, count, checkpoint: againstOf(checkpoint) };
  } catch (error) {
    if (error instanceof NotAuthentic) return { ...verdict, reason: error.message };
    throw error;
  }
}

class Certificate {
  head:
    | { organizationId: string; petitionId: string; checkpoint: Checkpoint; count: SignatureCount }
    | undefined;
  private stated: string | undefined;
  private readonly tree = new Tree();
  private line = 0;
  private position = 0;

  constructor(private readonly key: string) {}

  async read(text: string): Promise<void> {
    this.line += 1;
    if (this.stated !== undefined) throw this.wrong('follows the counts');
    if (!this.head) await this.open(text);
    else if (text.startsWith('{"leaves":')) this.skip(text);
    else if (text.startsWith('{"signatures":')) this.stated = text;
    else this.count(text);
  }

  end(): Count {
    if (!this.head || this.stated === undefined) throw new NotAuthentic('The certificate is incomplete.');
    const { checkpoint, count } = this.head;
    if (this.tree.size !== checkpoint.size || !areSame(this.tree.root(), checkpoint.root)) {
      throw new NotAuthentic(
        'The lines do not lead to the root of the checkpoint: an event or a hash was changed, removed or inserted.',
      );
    }
    const found = JSON.stringify(count.result());
    if (found !== this.stated)
      throw new NotAuthentic(`The certificate states ${this.stated}, but its events result in ${found}.`);
    return count.result();
  }

  private async open(text: string): Promise<void> {
    const { format, organizationId, petitionId, checkpoint: note } = this.parse(text);
    const isWritten = JSON.stringify({ format, organizationId, petitionId, checkpoint: note }) === text;
    const areTexts = typeof petitionId === 'string' && typeof note === 'string';
    if (format !== 'advocacy-count-certificate/1' || !isWritten || !areTexts)
      throw this.wrong('is not the beginning of a count certificate');
    const checkpoint = await openCheckpoint(note, this.key);
    if (checkpoint.organizationId !== organizationId)
      throw this.wrong('names another organization than its checkpoint');
    this.head = { organizationId, petitionId, checkpoint, count: new SignatureCount(petitionId) };
  }

  private skip(text: string): void {
    const { leaves, hash } = this.parse(text);
    const bytes = typeof hash === 'string' ? hashOf(hash) : undefined;
    const { size } = this.tree;
    const level = Math.log2(Number.isInteger(leaves) ? (leaves as number) : 0);
    const isSubtree =
      Number.isInteger(level) && size % 2 ** level === 0 && size + 2 ** level <= this.head!.checkpoint.size;
    if (JSON.stringify({ leaves, hash }) !== text || !bytes || !isSubtree)
      throw this.wrong('is not a complete subtree of the tree');
    this.tree.append(bytes, level);
  }

  private count(text: string): void {
    const { organizationId, checkpoint, count } = this.head!;
    const batch = newBatch(1);
    const wrong = checkLine(text, organizationId, batch);
    if (wrong) throw this.wrong(wrong.what);
    const event = this.parse(text) as Counted & {
      position: number;
      previousPosition: number;
      personal: unknown;
    };
    if (event.previousPosition !== this.position || event.position <= this.position)
      throw this.wrong('does not follow the event before: an event was removed or inserted');
    if (event.personal !== null) throw this.wrong('has readable personal data');
    if (!COUNTED.includes(event.type)) throw this.wrong(`has the type ${event.type}`);
    if (this.tree.size >= checkpoint.size || event.position > checkpoint.position)
      throw this.wrong('is not covered by the checkpoint');
    const mistake = count.add(event);
    if (mistake !== undefined) throw this.wrong(mistake);
    this.position = event.position;
    this.tree.append(batch.leaves);
  }

  private parse(text: string): Record<string, unknown> {
    try {
      const parsed = JSON.parse(text) as unknown;
      if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
    } catch {
      // Not JSON.
    }
    throw this.wrong('is not a JSON object');
  }

  private wrong(what: string): NotAuthentic {
    return new NotAuthentic(`Line ${this.line} ${what}.`);
  }
}
