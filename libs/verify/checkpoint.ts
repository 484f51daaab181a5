import { type Line, textsOf, wholeLines, WrongLine } from './export.js';
import {
  ALL,
  isKeyOf,
  isSignedBy,
  keyName,
  notACheckpoint,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  type VerifierKey,
  verifierKeyOf,
} from './note.js';
import { areSame, fromBase64, hashOf, isEd25519, timeOf, wholeNumber } from './platform.js';
import { claimHash, rootOfPath, Tree } from './tree.js';

/** Opens checkpoints with their parts, proofs and successions of keys: docs/spec/history-format.md, "Checkpoint". */

export type Checkpoint = {
  organizationId: string;
  /** The number of events in the tree. */
  size: number;
  root: Uint8Array;
  /** Every event of the organization up to this position is in the tree. */
  position: number;
  /** When it was sealed, by the server's clock, RFC 3339. */
  sealedAt: string;
  /** The name and id of the key that signed it. */
  key: string;
  signer: VerifierKey;
  /** The name and id of the given key, if that key has been replaced. */
  givenKey?: string;
  /** Complete subtrees, from the left. In notes up to version 0.3.0 they do not reach the end. */
  parts: readonly Part[];
};

type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Uint8Array };

/** A key rotation in the history: a key was replaced by another, and has signed that. */
export type Succession = { position: number; from: unknown; to: unknown; signature: unknown };

/** The history contains a successor that the key has not signed. */
export class FalseSuccession extends NotAuthentic {}

export const SUCCESSIONS_OF = 'signing-key';
export const SUCCESSION = 'SigningKeyRotated';
/** More key rotations than any organization has. */
export const MOST_SUCCESSIONS = 1_000;

/**
 * Parses a checkpoint after verifying its signature.
 *
 * @param successions loads the key rotations in the history. Called only if the key itself did not sign the note.
 * @throws NotAuthentic
 */
export async function openCheckpoint(
  text: string,
  given: string | VerifierKey,
  successions: () => Promise<readonly Succession[]> = () => Promise.resolve([]),
): Promise<Checkpoint> {
  const first = typeof given === 'string' ? parseVerifierKey(given) : given;
  const note = readNote(text);
  let keys = [first];
  if (!(await isSignedBy(note, first))) {
    const { organizationId } = parseText(note.text);
    // The log of all organizations has no events, so it contains no rotations.
    const recorded = organizationId === ALL.name ? [] : await successions();
    keys = [first, ...(await successorsOf(first, organizationId, recorded))];
  }
  for (const signer of keys.toReversed()) {
    if (!(await isSignedBy(note, signer))) continue;
    const checkpoint = { ...parseText(note.text), key: keyName(signer), signer };
    if (isKeyOf(signer, `advocacy-api/${checkpoint.organizationId}`))
      return signer === first ? checkpoint : { ...checkpoint, givenKey: keyName(first) };
    const reason = `The key ${keyName(signer)} is not valid for checkpoints of organization ${checkpoint.organizationId}.`;
    throw new NotAuthentic(reason, 'tree');
  }
  const names = keys.map(keyName).join(' or its successor ');
  const reason = `The checkpoint is not signed with the key ${names}. Use the key of the server that signed it.`;
  throw new NotAuthentic(reason, 'unsigned');
}

/** The noun for its leaves in messages. */
export function leavesOf({ organizationId }: Pick<Checkpoint, 'organizationId'>): string {
  return organizationId === ALL.name ? 'checkpoints' : 'events';
}

/** The keys that replaced this one, one after another, under its name. @throws FalseSuccession */
async function successorsOf(
  key: VerifierKey,
  organizationId: string,
  successions: readonly Succession[],
): Promise<VerifierKey[]> {
  const keys: VerifierKey[] = [];
  let last = key;
  for (const { position, from, to, signature } of successions) {
    if (typeof from !== 'string' || typeof to !== 'string' || typeof signature !== 'string') continue;
    if (!isRecordedKey(from, last)) continue;
    const bytes = fromBase64(signature);
    const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
    if (!bytes || !(await isEd25519(last.publicKey, statement, bytes))) {
      throw new FalseSuccession(
        `The event at position ${position} states that another key replaced ${keyName(last)}, but that key has not signed this. ` +
          'Someone inserted the event.',
        'successor',
      );
    }
    last = verifierKeyOf(key.name, recordedKey(to).bytes);
    keys.push(last);
  }
  return keys;
}

/** Unlike a key that an auditor pastes, a key in an event has one spelling: verifiers must agree on it. */
function recordedKey(text: string): VerifierKey {
  if (text === text.trim()) return parseVerifierKey(text);
  throw new NotAuthentic('A verifier key in the history has white space around it.', 'key');
}

function isRecordedKey(text: string, { bytes }: VerifierKey): boolean {
  try {
    return areSame(recordedKey(text).bytes, bytes);
  } catch (error) {
    if (error instanceof NotAuthentic) return false;
    throw error;
  }
}

/** The key rotations in an export, up to the first broken line: verification reports it. */
export async function successionsOfExport(chunks: AsyncIterable<Uint8Array>): Promise<Succession[]> {
  const found: Succession[] = [];
  try {
    for await (const lines of wholeLines(chunks))
      for (const text of textsOf(lines)) {
        // Member names have only one spelling.
        if (!text.includes(`"type":"${SUCCESSION}"`)) continue;
        const { position, streamType, type, data } = JSON.parse(text) as Partial<Line>;
        if (typeof position !== 'number' || streamType !== SUCCESSIONS_OF || type !== SUCCESSION) continue;
        const { from, to, signature } = (data ?? {}) as Partial<Succession>;
        if (found.length < MOST_SUCCESSIONS) found.push({ position, from, to, signature });
      }
  } catch (error) {
    if (!(error instanceof WrongLine) && !(error instanceof SyntaxError)) throw error;
  }
  return found;
}

/** The text of a note: five lines, and in old ones parts. @throws NotAuthentic */
function parseText(text: string): Omit<Checkpoint, 'key' | 'signer'> {
  const [origin, size, root, position, sealed = '', ...lines] = text.slice(0, -1).split('\n');
  const time = /^sealed (\S+)$/.exec(sealed)?.[1];
  const checkpoint = {
    organizationId: needed(
      /^advocacy-api\/(\S+)$/.exec(origin!)?.[1],
      'first line is not advocacy-api/<organizationId>',
    ),
    size: needed(wholeNumber(size), 'second line is not a number of events'),
    root: needed(hashOf(root), 'third line is not a hash in base64'),
    position: needed(
      wholeNumber(/^position (\S+)$/.exec(position ?? '')?.[1]),
      'fourth line is not "position <n>"',
    ),
    sealedAt: needed(timeOf(time) === undefined ? undefined : time, 'fifth line is not "sealed <time>"'),
    parts: lines.map((line) => {
      const part = line.startsWith('part ') ? parsePart(line.slice('part '.length)) : undefined;
      if (part) return part;
      throw notACheckpoint(
        `"${line}" is not "part <first position> <last position> <leaves> <hash>"`,
        'tree',
      );
    }),
  };
  let end = 0;
  for (const part of checkpoint.parts) {
    if (!isSubtree(part, end, checkpoint.size))
      throw notACheckpoint('its parts are not complete subtrees of the tree', 'tree');
    end += part.leaves;
  }
  return checkpoint;
}

function needed<Value>(value: Value | undefined, mistake: string): Value {
  if (value === undefined) throw notACheckpoint(`its ${mistake}`, 'tree');
  return value;
}

/** Whether the part, which begins with leaf `start`, is a complete subtree of a tree of `size` leaves. */
export function isSubtree({ leaves }: Pick<Part, 'leaves'>, start: number, size: number): boolean {
  return Number.isInteger(Math.log2(leaves)) && start % leaves === 0 && start + leaves <= size;
}

function parsePart(line: string): Part | undefined {
  const [first, last, count, root, ...others] = line.split(' ');
  const [firstPosition, lastPosition, leaves] = [first, last, count].map(wholeNumber);
  const hash = hashOf(root);
  if (firstPosition === undefined || lastPosition === undefined || !leaves || !hash) return undefined;
  return others.length === 0 ? { firstPosition, lastPosition, leaves, hash } : undefined;
}

/**
 * Parses the parts that a server sends with a checkpoint. They are not signed; they must lead to the root.
 *
 * @returns the parts, or what is wrong with them.
 */
export function openParts(text: string, { size, root, position }: Checkpoint): readonly Part[] | string {
  const lines = text.split('\n');
  if (lines.pop() !== '') return 'their last line does not end with a line feed';
  const tree = new Tree();
  const parts: Part[] = [];
  let before = 0;
  for (const line of lines) {
    const part = parsePart(line);
    if (!part) return `"${line}" is not "<first position> <last position> <leaves> <hash>"`;
    if (!isSubtree(part, tree.size, size)) return 'they are not complete subtrees of the tree';
    const { firstPosition, lastPosition, leaves, hash } = part;
    if (firstPosition <= before || lastPosition - firstPosition < leaves - 1 || lastPosition > position)
      return 'their positions do not ascend to the checkpoint’s';
    before = lastPosition;
    parts.push(part);
    tree.append(hash, Math.log2(leaves));
  }
  return tree.size === size && areSame(tree.root(), root) ? parts : 'they do not lead to its root';
}

/** The place of a checkpoint in the log of all organizations: the leaf's number, from 0, and the log's leaves and time. */
export type InAll = { index: number; size: number; sealedAt: string };

/**
 * Reads a proof (C2SP tlog-proof) that a checkpoint is in the log of all organizations, which the same key signed.
 *
 * @throws NotAuthentic if it proves something else or nothing.
 */
export async function openProof(text: string, checkpoint: Checkpoint): Promise<InAll> {
  const end = text.indexOf('\n\n');
  const [header, number, ...lines] = text.slice(0, end).split('\n');
  const index = wholeNumber(/^index (\S+)$/.exec(number ?? '')?.[1]);
  const path = lines.map(hashOf).filter((hash) => hash !== undefined);
  const isProof = end >= 0 && header === 'c2sp.org/tlog-proof@v1' && path.length === lines.length;
  if (!isProof || index === undefined) {
    const reason =
      'The proof that the checkpoint is in the log of all organizations is not a valid tlog-proof.';
    throw new NotAuthentic(reason, 'proof');
  }
  const key = verifierKeyOf(`advocacy-api/${ALL.name}`, checkpoint.signer.bytes);
  const { organizationId, size, root, sealedAt } = await openCheckpoint(text.slice(end + 2), key);
  const found = rootOfPath(claimHash(checkpoint), index, size, path);
  if (organizationId === ALL.name && found && areSame(found, root)) return { index, size, sealedAt };
  throw new NotAuthentic(
    `The checkpoint is not in the log of all organizations. The proof does not match the log’s ${size} checkpoints.`,
    'proof',
  );
}
