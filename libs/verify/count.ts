import { type Checkpoint, isSubtree, openCheckpoint } from './checkpoint.js';
import { type Event, eventOf, linesOf, parseLine, WrongLine } from './export.js';
import { NotAuthentic, printable } from './note.js';
import { areSame, hashOf } from './platform.js';
import { leafHash, Tree } from './tree.js';
import { againstOf, type Against, count as formatted, signedBy } from './verdict.js';

/** The count certificate of a petition: docs/spec/history-format.md, "Count certificate". */

const [SIGNED, WITHDRAWN] = ['PetitionSigned', 'SignatureWithdrawn'];
const [INVALIDATED, RESTORED] = ['SignaturesInvalidated', 'SignaturesRestored'];
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
      return `has version ${version}: an earlier event is missing`;
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

/** The result of verifying a count certificate. If it proves nothing, `reason` says why, and all others are null. */
export type CountVerdict = Record<'organizationId' | 'petitionId' | 'reason', string | null> & {
  ok: boolean;
  count: Count | null;
  checkpoint: Against | null;
};

/** Verifies a count certificate. @throws Error if it cannot be read. */
export async function verifyCount(chunks: AsyncIterable<Uint8Array>, key: string): Promise<CountVerdict> {
  const certificate = new Certificate();
  try {
    for await (const lines of linesOf(chunks)) for (const text of lines) await certificate.read(text, key);
    return certificate.end();
  } catch (error) {
    if (!(error instanceof NotAuthentic)) throw error;
    const { message } = error;
    const reason = error instanceof WrongLine ? `Line ${certificate.line + 1} ${message}.` : message;
    return { ok: false, organizationId: null, petitionId: null, count: null, reason, checkpoint: null };
  }
}

class Certificate {
  line = 0;
  private head: { checkpoint: Checkpoint; petitionId: string; counted: SignatureCount } | undefined;
  private stated: string | undefined;
  private readonly tree = new Tree();
  private position = 0;

  async read(text: string, key: string): Promise<void> {
    if (this.stated !== undefined) throw new WrongLine('follows the counts');
    if (!this.head) this.head = await headOf(text, key);
    else if (text.startsWith('{"leaves":')) this.skip(text, this.head.checkpoint.size);
    else if (text.startsWith('{"signatures":')) this.stated = text;
    else this.count(text, this.head);
    this.line += 1;
  }

  end(): CountVerdict {
    const { head, stated, tree } = this;
    if (!head || stated === undefined) throw new NotAuthentic('The certificate is incomplete.');
    const { checkpoint, petitionId, counted } = head;
    const mistake = 'an event or a hash was changed, removed or inserted';
    if (tree.size !== checkpoint.size || !areSame(tree.root(), checkpoint.root))
      throw new NotAuthentic(`The lines do not lead to the root of the checkpoint: ${mistake}.`);
    const count = counted.result();
    const found = JSON.stringify(count);
    if (found !== stated)
      throw new NotAuthentic(`The certificate states ${stated}, but its events result in ${found}.`);
    const { organizationId } = checkpoint;
    return { ok: true, organizationId, petitionId, count, reason: null, checkpoint: againstOf(checkpoint) };
  }

  private skip(text: string, size: number): void {
    const { leaves, hash } = parse(text);
    const bytes = typeof hash === 'string' ? hashOf(hash) : undefined;
    const isWritten = typeof leaves === 'number' && JSON.stringify({ leaves, hash }) === text;
    if (!isWritten || !bytes || !isSubtree(leaves, this.tree.size, size))
      throw new WrongLine('is not a complete subtree of the tree');
    this.tree.append(bytes, Math.log2(leaves));
  }

  private count(text: string, { checkpoint, counted }: NonNullable<typeof this.head>): void {
    const line = parseLine(text);
    const { position, type, digest } = eventOf(line, checkpoint.organizationId);
    if (line.previousPosition !== this.position || position <= this.position)
      throw new WrongLine('does not follow the previous event: an event was removed or inserted');
    if (line.personal !== null) throw new WrongLine('has readable personal data');
    if (!COUNTED.includes(type)) throw new WrongLine(`has the type ${type}`);
    if (this.tree.size >= checkpoint.size || position > checkpoint.position)
      throw new WrongLine('is not covered by the checkpoint');
    const mistake = counted.add(line);
    if (mistake !== undefined) throw new WrongLine(mistake);
    this.position = position;
    this.tree.append(leafHash(position, digest));
  }
}

async function headOf(text: string, key: string) {
  const { format, organizationId, petitionId, checkpoint: note } = parse(text);
  const isWritten = JSON.stringify({ format, organizationId, petitionId, checkpoint: note }) === text;
  const isText = typeof petitionId === 'string' && typeof note === 'string';
  if (format !== 'advocacy-count-certificate/1' || !isWritten || !isText)
    throw new WrongLine('is not the beginning of a count certificate');
  const checkpoint = await openCheckpoint(note, key);
  if (checkpoint.organizationId !== organizationId)
    throw new WrongLine('names a different organization from its checkpoint');
  return { checkpoint, petitionId, counted: new SignatureCount(petitionId) };
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    throw new WrongLine('is not a JSON object');
  }
}

/** A statement to quote. */
export function countStatement(verdict: CountVerdict): string {
  const { count, petitionId, organizationId, reason, checkpoint } = verdict;
  if (!count || !checkpoint) return `The certificate proves nothing: ${reason}`;
  const { signatures, withdrawn, invalidated } = count;
  return (
    `The history of organization ${organizationId} contains at least these signatures of petition ${printable(petitionId!)}: ` +
    `${formatted(signatures)} that no event in the certificate ended, ${formatted(withdrawn)} withdrawn and ${formatted(invalidated)} invalidated. ` +
    `The checkpoint of ${formatted(checkpoint.size)} events, ${signedBy(checkpoint)}, covers them. ` +
    'The creator of the certificate may have hidden any event, so each number can be too high or too low. Only the whole ' +
    'history shows every event. Nothing proves that the signers exist.'
  );
}
