import { type Succession, successorsOf } from './key-chain.js';
import {
  ALL,
  isKeyOf,
  isSignedBy,
  keyName,
  notACheckpoint,
  type Note,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  type VerifierKey,
} from './note.js';
import { areSame, hashOf, timeOf, wholeNumber } from './platform.js';
import { Tree } from './tree.js';

/** The content of a checkpoint: docs/spec/history-format.md, "Checkpoint". */
export type Checkpoint = {
  organizationId: string;
  /** The number of events in the tree. */
  size: number;
  root: Uint8Array;
  /** Every event of the organization up to this position is in the tree. */
  position: number;
  /** When it was sealed, RFC 3339. */
  sealedAt: string;
  /** The name and id of the key that signed it. */
  key: string;
  signer: VerifierKey;
  /** The name and id of the given key, if that key has been replaced. */
  givenKey?: string;
  /** Complete subtrees, from the left. In notes up to version 0.3.0 they do not reach the end. */
  parts: readonly Part[];
};

export type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Uint8Array };

/**
 * Parses a checkpoint after verifying its signature.
 *
 * @param successions loads the key rotations in the history. Called only if the key itself did not sign the
 *   note.
 * @throws NotAuthentic
 */
export async function openCheckpoint(
  text: string,
  verifierKey: string,
  successions: () => Promise<readonly Succession[]> = () => Promise.resolve([]),
): Promise<Checkpoint> {
  const key = parseVerifierKey(verifierKey);
  const note = readNote(text);
  if (await isSignedBy(note, key)) return checkpointOf(note, key);
  const { organizationId } = parseText(note.text);
  // The log of all organizations has no events, so it contains no rotations.
  const told = organizationId === ALL.name ? [] : await successions();
  const successors = await successorsOf(key, organizationId, told);
  for (const signer of successors.toReversed()) {
    if (await isSignedBy(note, signer)) return { ...checkpointOf(note, signer), givenKey: keyName(key) };
  }
  throw notSignedBy([key, ...successors]);
}

/** Parses a checkpoint after verifying its signature by this key only. @throws NotAuthentic */
export async function checkpointBy(text: string, key: VerifierKey): Promise<Checkpoint> {
  const note = readNote(text);
  if (!(await isSignedBy(note, key))) throw notSignedBy([key]);
  return checkpointOf(note, key);
}

/** The noun for its leaves in messages. */
export function leavesOf({ organizationId }: Pick<Checkpoint, 'organizationId'>): string {
  return organizationId === ALL.name ? 'checkpoints' : 'events';
}

function notSignedBy(keys: readonly VerifierKey[]): NotAuthentic {
  const names = keys.map(keyName).join(' or its successor ');
  return new NotAuthentic(
    `The checkpoint is not signed with the key ${names}. Use the key of the server that signed it.`,
    'unsigned',
  );
}

function checkpointOf(note: Note, key: VerifierKey): Checkpoint {
  const checkpoint = { ...parseText(note.text), key: keyName(key), signer: key };
  if (!isKeyOf(key, `advocacy-api/${checkpoint.organizationId}`)) {
    throw new NotAuthentic(
      `The key ${keyName(key)} is not valid for checkpoints of organization ${checkpoint.organizationId}.`,
      'tree',
    );
  }
  return checkpoint;
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
    if (firstPosition <= before || lastPosition - firstPosition < leaves - 1 || lastPosition > position) {
      return 'their positions do not ascend to the checkpoint’s';
    }
    before = lastPosition;
    parts.push(part);
    tree.append(hash, Math.log2(leaves));
  }
  return tree.size === size && areSame(tree.root(), root) ? parts : 'they do not lead to its root';
}

function parseText(text: string): Omit<Checkpoint, 'key' | 'signer'> {
  const [origin = '', size = '', root = '', position = '', sealed = '', ...lines] = text
    .slice(0, -1)
    .split('\n');
  const time = /^sealed (\S+)$/.exec(sealed)?.[1];
  const checkpoint = {
    organizationId: needed(
      /^advocacy-api\/(\S+)$/.exec(origin)?.[1],
      'its first line is not advocacy-api/<organizationId>',
    ),
    size: needed(wholeNumber(size), 'its second line is not a number of events'),
    root: needed(hashOf(root), 'its third line is not a hash in base64'),
    position: needed(
      wholeNumber(/^position (\S+)$/.exec(position)?.[1]),
      'its fourth line is not "position <n>"',
    ),
    sealedAt: needed(timeOf(time) === undefined ? undefined : time, 'its fifth line is not "sealed <time>"'),
    parts: lines.map((line) =>
      needed(
        line.startsWith('part ') ? parsePart(line.slice('part '.length)) : undefined,
        `"${line}" is not "part <first position> <last position> <leaves> <hash>"`,
      ),
    ),
  };
  let end = 0;
  for (const part of checkpoint.parts) {
    if (!isSubtree(part, end, checkpoint.size)) {
      throw notACheckpoint('its parts are not complete subtrees of the tree', 'tree');
    }
    end += part.leaves;
  }
  return checkpoint;
}

/** Whether the part, which begins with leaf `start`, is a complete subtree of a tree of `size` leaves. */
function isSubtree({ leaves }: Part, start: number, size: number): boolean {
  return Number.isInteger(Math.log2(leaves)) && start % leaves === 0 && start + leaves <= size;
}

function parsePart(line: string): Part | undefined {
  const [first, last, count, root, ...others] = line.split(' ');
  const [firstPosition, lastPosition, leaves] = [first, last, count].map(wholeNumber);
  const hash = hashOf(root);
  if (firstPosition === undefined || lastPosition === undefined || !leaves || !hash) return undefined;
  return others.length === 0 ? { firstPosition, lastPosition, leaves, hash } : undefined;
}

function needed<Value>(value: Value | undefined, mistake: string): Value {
  if (value === undefined) throw notACheckpoint(mistake, 'tree');
  return value;
}
