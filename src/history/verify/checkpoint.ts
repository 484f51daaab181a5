import { createPublicKey, hash, verify } from 'node:crypto';

/** What a checkpoint says: ARCHITECTURE.md, "Checkpoint". */
export type Checkpoint = {
  organizationId: string;
  /** Events in the tree. */
  size: number;
  root: Buffer;
  /** Every event of the organization at or below it is in the tree. */
  position: number;
  /** Complete subtrees, from the left. */
  parts: readonly Part[];
};

export type Part = { firstPosition: number; lastPosition: number; leaves: number; hash: Buffer };

/** A checkpoint or a key that proves nothing; the message says why. */
export class NotAuthentic extends Error {}

/** Algorithm byte of Ed25519 (C2SP signed-note). */
const ED25519 = 1;
/** SubjectPublicKeyInfo of an Ed25519 key up to its 32 bytes (RFC 8410, section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

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
    const id = `${key.name}+${key.id.toString('hex')}`;
    throw new NotAuthentic(
      `The checkpoint has no signature of the key ${id}: give the key of the server that signed it.`,
    );
  }
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, key.bytes]),
    format: 'der',
    type: 'spki',
  });
  if (!signatures.some((signature) => verify(null, Buffer.from(text), publicKey, signature))) {
    throw new NotAuthentic(
      'The signature is not that of the checkpoint’s text: the text is not what was signed.',
    );
  }
  return parseText(text);
}

/** `<name>+<key id>+<base64 of 0x01 and the public key>`. */
function parseKey(text: string): Key {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded, 33);
  if (!name || !id || bytes?.[0] !== ED25519) {
    throw new NotAuthentic('This is not a verifier key: it reads <name>+<8 digits>+<base64>, on one line.');
  }
  const digest = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]), 'buffer');
  if (digest.subarray(0, 4).toString('hex') !== id) {
    throw new NotAuthentic('The verifier key contradicts itself: copy it again, all of it.');
  }
  return { name, id: Buffer.from(id, 'hex'), bytes: bytes.subarray(1) };
}

/** The signatures made with this very key; those of others are not asked. */
function signaturesOf(lines: string, key: Key): Buffer[] {
  if (!lines.endsWith('\n')) throw notACheckpoint('its last line does not end: copy it again, all of it');
  return lines
    .slice(0, -1)
    .split('\n')
    .flatMap((line) => {
      const [, name, encoded] = /^— (\S+) (\S+)$/.exec(line) ?? [];
      if (name === undefined || encoded === undefined)
        throw notACheckpoint(`"${line}" is not a signature line`);
      const bytes = fromBase64(encoded, 68);
      return bytes && name === key.name && bytes.subarray(0, 4).equals(key.id) ? [bytes.subarray(4)] : [];
    });
}

function parseText(text: string): Checkpoint {
  const [origin = '', size = '', root = '', position = '', sealed = '', ...lines] = text
    .slice(0, -1)
    .split('\n');
  const [, organizationId] = /^advocacy-api\/(\S+)$/.exec(origin) ?? [];
  if (organizationId === undefined)
    throw notACheckpoint('its first line is not advocacy-api/<organizationId>');
  if (!/^sealed \S+$/.test(sealed)) throw notACheckpoint('its fifth line is not "sealed <time>"');
  const checkpoint = {
    organizationId,
    size: wholeNumber(size, 'its second line is not a number of events'),
    root: hashOf(root, 'its third line is not a hash in base64'),
    position: wholeNumber(/^position (\S+)$/.exec(position)?.[1], 'its fourth line is not "position <n>"'),
    parts: lines.map(parsePart),
  };
  let end = 0;
  for (const { leaves } of checkpoint.parts) {
    const fits = Number.isInteger(Math.log2(leaves)) && end % leaves === 0 && end + leaves <= checkpoint.size;
    if (!fits) throw notACheckpoint('its parts are not complete subtrees of the tree');
    end += leaves;
  }
  return checkpoint;
}

function parsePart(line: string): Part {
  const mistake = `"${line}" is not "part <first position> <last position> <leaves> <hash>"`;
  const [, first, last, leaves, root] = /^part (\S+) (\S+) (\S+) (\S+)$/.exec(line) ?? [];
  return {
    firstPosition: wholeNumber(first, mistake),
    lastPosition: wholeNumber(last, mistake),
    leaves: wholeNumber(leaves, mistake),
    hash: hashOf(root, mistake),
  };
}

function wholeNumber(text: string | undefined, mistake: string): number {
  const number = text !== undefined && /^(0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(number)) throw notACheckpoint(mistake);
  return number;
}

function hashOf(text: string | undefined, mistake: string): Buffer {
  const bytes = text === undefined ? undefined : fromBase64(text, 32);
  if (!bytes) throw notACheckpoint(mistake);
  return bytes;
}

/** So many bytes; undefined where the text is not their one encoding (Node skips what it does not know). */
function fromBase64(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === length && bytes.toString('base64') === text ? bytes : undefined;
}

function notACheckpoint(mistake: string): NotAuthentic {
  return new NotAuthentic(`This is not a checkpoint: ${mistake}.`);
}
