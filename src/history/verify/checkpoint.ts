import { createPublicKey, hash, verify } from 'node:crypto';
import { HASH } from './sha256.js';
import { Tree } from './tree.js';

/** What a checkpoint says: ARCHITECTURE.md, "Checkpoint". */
export type Checkpoint = {
  organizationId: string;
  /** Events in the tree. */
  size: number;
  root: Buffer;
  /** Every event of the organization at or below it is in the tree. */
  position: number;
  /** When, RFC 3339. */
  sealedAt: string;
  /** Name and id of the key that signed it. */
  key: string;
  /** Complete subtrees, from the left; those of notes up to 0.3.0 do not reach to the end. */
  parts: readonly Part[];
};

export type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Buffer };

/** A checkpoint or a key that proves nothing; the message says why. */
export class NotAuthentic extends Error {}

/** Algorithm byte of Ed25519 (C2SP signed-note). */
const ED25519 = 1;
/** SubjectPublicKeyInfo of an Ed25519 key up to its 32 bytes (RFC 8410, section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** The name of keys that verify the checkpoints of all organizations. */
const GENERAL_NAME = 'advocacy-api';

type Key = { name: string; id: Buffer; bytes: Buffer };

/** Reads a checkpoint after its signature was verified. @throws NotAuthentic */
export function openCheckpoint(note: string, verifierKey: string): Checkpoint {
  const key = parseKey(verifierKey.trim());
  // The last empty line parts text and signatures (C2SP signed-note).
  const end = note.lastIndexOf('\n\n');
  if (end < 0) throw notACheckpoint('it has no empty line before its signature');
  const text = note.slice(0, end + 1);
  const signatures = signaturesOf(note.slice(end + 2), key);
  if (signatures.length === 0) {
    throw new NotAuthentic(
      `The checkpoint has no signature of the key ${keyName(key)}: give the key of the server that signed it.`,
    );
  }
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, key.bytes]),
    format: 'der',
    type: 'spki',
  });
  // All of them: whoever adds a signature in somebody's name is not to be trusted in the rest either.
  if (!signatures.every((signature) => verify(null, Buffer.from(text), publicKey, signature))) {
    throw new NotAuthentic(
      `A signature of the key ${keyName(key)} is not that of the checkpoint’s text: the text is not what was signed.`,
    );
  }
  const checkpoint = { ...parseText(text), key: keyName(key) };
  if (key.name !== GENERAL_NAME && key.name !== `${GENERAL_NAME}/${checkpoint.organizationId}`) {
    throw new NotAuthentic(
      `The key ${keyName(key)} is not for the checkpoints of organization ${checkpoint.organizationId}.`,
    );
  }
  return checkpoint;
}

/**
 * The parts that a server tells beside a checkpoint. Nobody signs them: they lead to the root.
 *
 * @returns the parts, or what is wrong with them.
 */
export function openParts(text: string, { size, root, position }: Checkpoint): readonly Part[] | string {
  const lines = text.split('\n');
  if (lines.pop() !== '') return 'their last line does not end';
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
  return tree.size === size && tree.root().equals(root) ? parts : 'they do not lead to its root';
}

/** `<name>+<key id>+<base64 of 0x01 and the public key>`. */
function parseKey(text: string): Key {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  if (!name || !id || bytes?.length !== 33 || bytes[0] !== ED25519) {
    throw new NotAuthentic('This is not a verifier key: it reads <name>+<8 digits>+<base64>, on one line.');
  }
  const digest = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]), 'buffer');
  if (digest.subarray(0, 4).toString('hex') !== id) {
    throw new NotAuthentic('The verifier key contradicts itself: copy it again, all of it.');
  }
  return { name, id: Buffer.from(id, 'hex'), bytes: bytes.subarray(1) };
}

function keyName({ name, id }: Key): string {
  return `${name}+${id.toString('hex')}`;
}

/** What stands for signatures of this very key; those of others are not asked. */
function signaturesOf(lines: string, key: Key): Buffer[] {
  if (!lines.endsWith('\n')) throw notACheckpoint('its last line does not end: copy it again, all of it');
  return lines
    .slice(0, -1)
    .split('\n')
    .flatMap((line) => {
      const [, name, encoded] = /^— ([^+\s]+) (\S+)$/.exec(line) ?? [];
      const bytes = encoded === undefined ? undefined : fromBase64(encoded);
      if (!bytes || bytes.length < 5) throw notACheckpoint(`"${line}" is not a signature line`);
      return name === key.name && bytes.subarray(0, 4).equals(key.id) ? [bytes.subarray(4)] : [];
    });
}

function parseText(text: string): Omit<Checkpoint, 'key'> {
  const [origin = '', size = '', root = '', position = '', sealed = '', ...lines] = text
    .slice(0, -1)
    .split('\n');
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
    sealedAt: needed(momentOf(/^sealed (\S+)$/.exec(sealed)?.[1]), 'its fifth line is not "sealed <time>"'),
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
      throw notACheckpoint('its parts are not complete subtrees of the tree');
    }
    end += part.leaves;
  }
  return checkpoint;
}

/** Whether the leaves of the part, which begins with leaf `start`, are a complete subtree of a tree of `size`. */
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

function wholeNumber(text: string | undefined): number | undefined {
  const number = text !== undefined && /^(0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function hashOf(text: string | undefined): Buffer | undefined {
  const bytes = text === undefined ? undefined : fromBase64(text);
  return bytes?.length === HASH ? bytes : undefined;
}

function momentOf(text = ''): string | undefined {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text ? text : undefined;
}

/** Undefined where the text is not the one encoding of its bytes (Node skips what it does not know). */
function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

function needed<Value>(value: Value | undefined, mistake: string): Value {
  if (value === undefined) throw notACheckpoint(mistake);
  return value;
}

function notACheckpoint(mistake: string): NotAuthentic {
  return new NotAuthentic(`This is not a checkpoint: ${mistake}.`);
}
