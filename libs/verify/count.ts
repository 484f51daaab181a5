import { type Checkpoint, isSubtree, openCheckpoint } from './checkpoint.js';
import { type Event, eventOf, parseLine, textsOf, wholeLines, WrongLine } from './export.js';
import { NotAuthentic } from './note.js';
import { areSame, hashOf } from './platform.js';
import { leafHash, Tree } from './tree.js';
import { againstOf, type Against } from './verdict.js';

/** The count certificate of a petition: docs/spec/history-format.md, "Count certificate". */

const [SIGNED, WITHDRAWN] = ['PetitionSigned', 'SignatureWithdrawn'];
const [INVALIDATED, RESTORED] = ['SignaturesInvalidated', 'SignaturesRestored'];
/** The types of the events that change the number of signatures. */
export const COUNTED = [SIGNED, 'SignatureMoved', WITHDRAWN, INVALIDATED, RESTORED] as string[];

/** `signatures`: the valid ones. Invalidated ones that were withdrawn are only `withdrawn`. */
export type Count = { signatures: number; withdrawn: number; invalidated: number };

type Counted = Pick<Event, 'type' | 'streamId' | 'version' | 'data'>;

/** Counts the valid signatures of a petition by its events in order. */
export class SignatureCount {
  private readonly versions = new Map<string, number>();
  private readonly signatures = new Map<string, { isWithdrawn: boolean; isInvalid: boolean }>();

  constructor(private readonly petitionId: string) {}

  /** @returns what is wrong with the event. */
  add({ type, streamId, version, data: own }: Counted): string | undefined {
    const data = own as { petitionId?: unknown; signatureIds?: unknown };
    if (data.petitionId !== this.petitionId) return 'belongs to another petition';
    if (version !== (this.versions.get(streamId) ?? 0) + 1)
      return `has version ${version}: an event before is missing`;
    if (type === INVALIDATED || type === RESTORED) {
      if (!Array.isArray(data.signatureIds)) return 'has no signatureIds';
      for (const id of data.signatureIds.map(String)) {
        const signature = this.signatures.get(id);
        if (!signature) return `names the signature ${id}, which is missing`;
        signature.isInvalid = type === INVALIDATED;
      }
    } else {
      const own = this.signatures.get(streamId);
      if (type === SIGNED ? version !== 1 : !own) return 'is not an event that can follow in this signature';
      if (!own) this.signatures.set(streamId, { isWithdrawn: false, isInvalid: false });
      else own.isWithdrawn ||= type === WITHDRAWN;
    }
    this.versions.set(streamId, version);
    return undefined;
  }

  result(): Count {
    const count = { signatures: 0, withdrawn: 0, invalidated: 0 };
    for (const { isWithdrawn, isInvalid } of this.signatures.values())
      count[isWithdrawn ? 'withdrawn' : isInvalid ? 'invalidated' : 'signatures'] += 1;
    return count;
  }
}

/** The result of verifying a count certificate. The counts are null if it proves nothing, and `reason` says why. */
export type CountVerdict = {
  ok: boolean;
  organizationId: string | null;
  petitionId: string | null;
  count: Count | null;
  reason: string | null;
  checkpoint: Against | null;
};

/** Verifies a count certificate. @throws Error if it cannot be read. */
export async function verifyCount(chunks: AsyncIterable<Uint8Array>, key: string): Promise<CountVerdict> {
  try {
    const certificate = new Certificate(key);
    for await (const lines of wholeLines(chunks))
      for (const text of textsOf(lines)) await certificate.read(text);
    return certificate.end();
  } catch (error) {
    const nothing = { organizationId: null, petitionId: null, count: null, checkpoint: null };
    if (error instanceof NotAuthentic) return { ok: false, ...nothing, reason: error.message };
    if (!(error instanceof WrongLine)) throw error;
    return { ok: false, ...nothing, reason: 'The certificate is incomplete, or not a text.' };
  }
}

class Certificate {
  private checkpoint: Checkpoint | undefined;
  private petitionId = '';
  private counted = new SignatureCount('');
  private stated: string | undefined;
  private readonly tree = new Tree();
  private line = 0;
  private position = 0;

  constructor(private readonly key: string) {}

  async read(text: string): Promise<void> {
    this.line += 1;
    if (this.stated !== undefined) throw this.wrong('follows the counts');
    if (!this.checkpoint) await this.open(text);
    else if (text.startsWith('{"leaves":')) this.skip(text, this.checkpoint);
    else if (text.startsWith('{"signatures":')) this.stated = text;
    else this.count(text, this.checkpoint);
  }

  end(): CountVerdict {
    const { checkpoint, stated, tree, petitionId } = this;
    if (!checkpoint || stated === undefined) throw new NotAuthentic('The certificate is incomplete.');
    if (tree.size !== checkpoint.size || !areSame(tree.root(), checkpoint.root)) {
      const what = 'an event or a hash was changed, removed or inserted';
      throw new NotAuthentic(`The lines do not lead to the root of the checkpoint: ${what}.`);
    }
    const count = this.counted.result();
    const found = JSON.stringify(count);
    if (found !== stated)
      throw new NotAuthentic(`The certificate states ${stated}, but its events result in ${found}.`);
    const { organizationId } = checkpoint;
    return { ok: true, organizationId, petitionId, count, reason: null, checkpoint: againstOf(checkpoint) };
  }

  private async open(text: string): Promise<void> {
    const { format, organizationId, petitionId, checkpoint: note } = this.parse(text);
    const isWritten = JSON.stringify({ format, organizationId, petitionId, checkpoint: note }) === text;
    const isText = typeof petitionId === 'string' && typeof note === 'string';
    if (format !== 'advocacy-count-certificate/1' || !isWritten || !isText)
      throw this.wrong('is not the beginning of a count certificate');
    this.checkpoint = await openCheckpoint(note, this.key);
    if (this.checkpoint.organizationId !== organizationId)
      throw this.wrong('names another organization than its checkpoint');
    this.petitionId = petitionId;
    this.counted = new SignatureCount(petitionId);
  }

  private skip(text: string, { size }: Checkpoint): void {
    const { leaves, hash } = this.parse(text);
    const bytes = typeof hash === 'string' ? hashOf(hash) : undefined;
    const isWritten = typeof leaves === 'number' && JSON.stringify({ leaves, hash }) === text;
    if (!isWritten || !bytes || !isSubtree({ leaves }, this.tree.size, size))
      throw this.wrong('is not a complete subtree of the tree');
    this.tree.append(bytes, Math.log2(leaves));
  }

  private count(text: string, { organizationId, size, position }: Checkpoint): void {
    let event;
    try {
      event = eventOf(parseLine(text), organizationId);
    } catch (error) {
      throw error instanceof WrongLine ? this.wrong(error.message) : error;
    }
    const { previousPosition, personal } = this.parse(text);
    if (previousPosition !== this.position || event.position <= this.position)
      throw this.wrong('does not follow the event before: an event was removed or inserted');
    if (personal !== null) throw this.wrong('has readable personal data');
    if (!COUNTED.includes(event.type)) throw this.wrong(`has the type ${event.type}`);
    if (this.tree.size >= size || event.position > position)
      throw this.wrong('is not covered by the checkpoint');
    const mistake = this.counted.add(event);
    if (mistake !== undefined) throw this.wrong(mistake);
    this.position = event.position;
    this.tree.append(leafHash(event.position, event.digest));
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
