import { isId, type Line, linesOf, WrongLine } from './export.js';
import { ALL, isKeyOf, isSignedBy, keyName, notACheckpoint, NotAuthentic } from './note.js';
import { parseVerifierKey, readNote, type VerifierKey, verifierKeyOf } from './note.js';
import { areSame, fromBase64, hashOf, isEd25519, timeOf, toBase64, wholeNumber } from './platform.js';
import { claimHash, rootOfPath, Tree } from './tree.js';

/** Opens checkpoints with their parts, proofs and successions of keys: docs/spec/history-format.md, "Checkpoint". */

/** Every event up to `position` is in the tree of `size` events. `sealedAt`: by the server's clock, RFC 3339. */
export type Checkpoint = {
  organizationId: string;
  size: number;
  root: Uint8Array;
  position: number;
  sealedAt: string;
  signer: VerifierKey;
  /** The name and id of the key that signed it, and of the given one if that has been replaced. */
  key: string;
  givenKey?: string;
  /** Complete subtrees, from the left. In notes up to version 0.3.0 they do not reach the end. */
  parts: readonly Part[];
};
type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Uint8Array };

/** A key rotation in the history: the signature is that of `from`. */
export type Succession = { position: number; from: unknown; to: unknown; signature: unknown };

/** The history contains a successor that the key has not signed. */
export class FalseSuccession extends NotAuthentic {}
export const SUCCESSIONS_OF = 'signing-key';
export const SUCCESSION = 'SigningKeyRotated';
export const MOST_SUCCESSIONS = 1_000;

/** Parses a checkpoint signed by the key, or by one that the `successions` in the history prove. @throws NotAuthentic */
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
    // Unlike a key that an auditor pastes, a key in an event has one spelling: verifiers must agree on it.
    const [name = ''] = from.split('+');
    if (/\s|^$/.test(name) || from !== `${keyName(verifierKeyOf(name, last.bytes))}+${toBase64(last.bytes)}`)
      continue;
    const bytes = fromBase64(signature);
    const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
    if (!bytes || !(await isEd25519(last.publicKey, statement, bytes))) {
      const states = `The event at position ${position} states that another key replaced ${keyName(last)}`;
      const reason = `${states}, but that key has not signed this. Someone inserted the event.`;
      throw new FalseSuccession(reason, 'successor');
    }
    if (to !== to.trim())
      throw new NotAuthentic('A verifier key in the history has white space around it.', 'key');
    last = verifierKeyOf(key.name, parseVerifierKey(to).bytes);
    keys.push(last);
  }
  return keys;
}

/** The key rotations in an export. Lines that are not events are ignored: verification reports them. */
export async function successionsOfExport(chunks: AsyncIterable<Uint8Array>): Promise<Succession[]> {
  const found: Succession[] = [];
  try {
    for await (const lines of linesOf(chunks))
      for (const text of lines) {
        // Member names have only one spelling.
        const succession = text.includes(`"type":"${SUCCESSION}"`) ? successionOf(text) : undefined;
        if (succession && found.length < MOST_SUCCESSIONS) found.push(succession);
      }
  } catch (error) {
    if (!(error instanceof WrongLine)) throw error;
  }
  return found;
}

function successionOf(text: string): Succession | undefined {
  try {
    const { position, streamType, type, data } = JSON.parse(text) as Line;
    if (typeof position !== 'number' || streamType !== SUCCESSIONS_OF || type !== SUCCESSION)
      return undefined;
    return { ...(data as Omit<Succession, 'position'>), position };
  } catch {
    return undefined;
  }
}

/** The text of a note: five lines, and in old ones parts. @throws NotAuthentic */
function parseText(text: string): Omit<Checkpoint, 'key' | 'signer'> {
  const [origin = '', count, hash, third = '', fourth = '', ...lines] = text.slice(0, -1).split('\n');
  const organizationId = /^advocacy-api\/(\S+)$/.exec(origin)?.[1];
  const [size, root] = [wholeNumber(count), hashOf(hash)];
  const position = wholeNumber(/^position (\S+)$/.exec(third)?.[1]);
  const sealedAt = /^sealed (\S+)$/.exec(fourth)?.[1];
  const wrong = (mistake: string) => notACheckpoint(mistake, 'tree');
  // Two spellings of one id would be two logs of one organization, and the register would not notice.
  if (organizationId !== ALL.name && !isId(organizationId))
    throw wrong('its first line is not advocacy-api/<organizationId>');
  if (size === undefined) throw wrong('its second line is not a number of events');
  if (root === undefined) throw wrong('its third line is not a hash in base64');
  if (position === undefined) throw wrong('its fourth line is not "position <n>"');
  if (sealedAt === undefined || timeOf(sealedAt) === undefined)
    throw wrong('its fifth line is not "sealed <time>"');
  // Versions up to 0.3.0.
  const parts = partsOf(lines, size, 'part ');
  if (typeof parts === 'string') throw wrong(parts.startsWith('"') ? parts : `its parts ${parts}`);
  return { organizationId, size, root, position, sealedAt, parts };
}

/** Whether this many leaves, from leaf `start`, are a complete subtree of a tree of `size` leaves. */
export const isSubtree = (leaves: number, start: number, size: number) =>
  Number.isInteger(Math.log2(leaves)) && start % leaves === 0 && start + leaves <= size;

/** Complete subtrees from the left, or what is wrong with them. */
function partsOf(lines: readonly string[], size: number, prefix = ''): Part[] | string {
  const parts: Part[] = [];
  let end = 0;
  for (const line of lines) {
    const [first, last, count, root, ...others] = line.slice(prefix.length).split(' ');
    const [firstPosition, lastPosition, leaves] = [first, last, count].map(wholeNumber);
    const hash = line.startsWith(prefix) && others.length === 0 ? hashOf(root) : undefined;
    if (firstPosition === undefined || lastPosition === undefined || !leaves || !hash)
      return `"${line}" is not "${prefix}<first position> <last position> <leaves> <hash>"`;
    if (!isSubtree(leaves, end, size)) return 'are not complete subtrees of the tree';
    parts.push({ firstPosition, lastPosition, leaves, hash });
    end += leaves;
  }
  return parts;
}

/** Parses the parts that a server sends with a checkpoint, unsigned. @returns the parts, or what is wrong with them. */
export function openParts(text: string, { size, root, position }: Checkpoint): readonly Part[] | string {
  const lines = text.split('\n');
  if (lines.pop() !== '') return 'their last line does not end with a line feed';
  const parts = partsOf(lines, size);
  if (typeof parts === 'string') return parts.startsWith('"') ? parts : `they ${parts}`;
  const tree = new Tree();
  let before = 0;
  for (const { firstPosition, lastPosition, leaves, hash } of parts) {
    if (firstPosition <= before || lastPosition - firstPosition < leaves - 1 || lastPosition > position)
      return 'their positions do not ascend to the checkpoint’s';
    before = lastPosition;
    tree.append(hash, Math.log2(leaves));
  }
  return tree.size === size && areSame(tree.root(), root) ? parts : 'they do not lead to its root';
}

/** The place of a checkpoint in the log of all organizations: the leaf's number, from 0, and the log's leaves and time. */
export type InAll = { index: number; size: number; sealedAt: string };

/** Reads a proof (C2SP tlog-proof) that a checkpoint is in the log of all organizations. @throws NotAuthentic */
export async function openProof(text: string, checkpoint: Checkpoint): Promise<InAll> {
  const end = text.indexOf('\n\n');
  const [header, number, ...lines] = text.slice(0, end).split('\n');
  const index = wholeNumber(/^index (\S+)$/.exec(number ?? '')?.[1]);
  const path = lines.map(hashOf).filter((hash) => hash !== undefined);
  const isProof = end >= 0 && header === 'c2sp.org/tlog-proof@v1' && path.length === lines.length;
  const inLog = 'the checkpoint is in the log of all organizations';
  if (!isProof || index === undefined)
    throw new NotAuthentic(`The proof that ${inLog} is not a valid tlog-proof.`, 'proof');
  const key = verifierKeyOf(`advocacy-api/${ALL.name}`, checkpoint.signer.bytes);
  const { organizationId, size, root, sealedAt } = await openCheckpoint(text.slice(end + 2), key);
  const found = rootOfPath(claimHash(checkpoint), index, size, path);
  if (organizationId === ALL.name && found && areSame(found, root)) return { index, size, sealedAt };
  const mismatch = `It does not match the log’s ${size} checkpoints, so it may belong to another checkpoint.`;
  throw new NotAuthentic(`The proof does not show that ${inLog}. ${mismatch}`, 'proof');
}
