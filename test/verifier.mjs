/**
 * The second verifier: node test/verifier.mjs FILE --checkpoint C --key K
 *
 * Written from ARCHITECTURE.md, "The history, for auditors", alone, and as literally as it goes: it imports nothing
 * but Node.js, and holds the hash of every leaf in memory. It prints the verdict; its status is 0 where that is ok.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const FIELDS =
  'data digest encryptedPersonal eventId metadata organizationId personal position previousPosition recordedAt ' +
  'schema streamId streamType subjectId type version';

/** Ends the verification: the first difference was found. */
class Difference extends Error {
  constructor(position, reason) {
    super(reason);
    this.position = position;
  }
}

function demand(condition, position, reason) {
  if (!condition) throw new Difference(position, reason);
}

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();

function int64(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return bytes;
}

/** RFC 8785: ECMAScript's own numbers and texts, members sorted by their UTF-16 units. */
function canonical(json) {
  if (json === null || typeof json !== 'object') return JSON.stringify(json);
  if (Array.isArray(json)) return '[' + json.map(canonical).join() + ']';
  const members = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return '{' + members.map(([name, value]) => JSON.stringify(name) + ':' + canonical(value)).join() + '}';
}

/** RFC 6962, section 2.1: the hash of the leaves from `start` to before `end`. */
function treeHash(leaves, start, end) {
  if (end === start) return sha256();
  if (end - start === 1) return leaves[start];
  let k = 1;
  while (k * 2 < end - start) k *= 2;
  return sha256(Buffer.of(1), treeHash(leaves, start, start + k), treeHash(leaves, start + k, end));
}

/** RFC 4648: the bytes of a text have one encoding, and Node.js reads others too. Those are no bytes here. */
function fromBase64(text) {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : Buffer.of();
}

function openCheckpoint(note, verifierKey) {
  const [, name, keyId, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(verifierKey) ?? [];
  demand(name, null, 'no verifier key');
  const key = fromBase64(encoded);
  demand(key.length === 33 && key[0] === 1, null, 'no Ed25519 key');
  const id = sha256(Buffer.from(`${name}\n`), key).subarray(0, 4);
  demand(id.toString('hex') === keyId, null, 'the key id is not that of the key');

  const [, text, lines] = /^(.*\n)\n(.*\n)$/s.exec(note) ?? [];
  demand(text, null, 'no signed note');
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.subarray(1).toString('base64url') };
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  const isSigned = lines.split('\n').some((line) => {
    const [dash, signer, signature = ''] = line.split(' ');
    const bytes = fromBase64(signature);
    if (dash !== '—' || signer !== name || bytes.length !== 68 || !bytes.subarray(0, 4).equals(id))
      return false;
    return verify(null, Buffer.from(text), publicKey, bytes.subarray(4));
  });
  demand(isSigned, null, 'not signed with this key');

  const [origin, size, root, position, , ...parts] = text.trimEnd().split('\n');
  const checkpoint = {
    organizationId: origin.replace('advocacy-api/', ''),
    size: Number(size),
    root: fromBase64(root),
    position: Number(position.replace('position ', '')),
    parts: [],
  };
  let end = 0;
  for (const part of parts) {
    const [, first, last, leaves, hash] = part.split(' ');
    const start = end;
    end += Number(leaves);
    checkpoint.parts.push({ first: Number(first), last, start, end, hash: fromBase64(hash) });
  }
  return checkpoint;
}

/** @throws Difference where the line is no event, or not the one after `before`. */
function readEvent(bytes, before, organizationId) {
  const next = before.position + 1;
  let event;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    let members = 0;
    event = JSON.parse(text, (_, value) => {
      if (value && typeof value === 'object' && !Array.isArray(value)) members += Object.keys(value).length;
      return value;
    });
    const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
    demand(colons === members, next, 'a member twice');
  } catch (error) {
    throw error instanceof Difference ? error : new Difference(next, 'no JSON');
  }
  demand(
    Object.keys(event ?? {})
      .sort()
      .join(' ') === FIELDS,
    next,
    'not the fields of an event',
  );
  const { position, previousPosition, personal, encryptedPersonal, recordedAt, digest, ...rest } = event;
  demand(Number.isSafeInteger(position) && position > 0, next, 'no position');
  demand(Number.isSafeInteger(previousPosition) && previousPosition >= 0, next, 'no previousPosition');

  const isMissing = previousPosition > before.previousPosition;
  const disputed = isMissing ? previousPosition : before.position;
  demand(previousPosition === before.position, disputed, 'an event is missing, or was put in');
  demand(position > before.position, next, 'positions do not ascend');
  demand(event.organizationId === organizationId, position, 'of another organization');
  demand(personal === null || encryptedPersonal !== null, position, 'personal data from nowhere');
  const time = new Date(recordedAt);
  demand(!Number.isNaN(time.getTime()) && time.toISOString() === recordedAt, position, 'no time');
  const body = sha256(Buffer.from(canonical({ ...rest, personal: encryptedPersonal })));
  demand(
    sha256(body, int64(time.getTime())).toString('hex') === digest,
    position,
    'not the digest of its content',
  );
  return event;
}

const leaves = [];
let [events, provedEvents] = [0, 0];

async function verifyHistory(file, note, verifierKey) {
  const { organizationId, size, root, position: sealedUpTo, parts } = openCheckpoint(note, verifierKey);
  let before = { position: 0, previousPosition: -1 };
  let firstAfterParts = 1;
  const missing = () =>
    new Difference(
      before.position < sealedUpTo ? before.position + 1 : firstAfterParts,
      `${size - leaves.length} of the ${size} events of the checkpoint are missing`,
    );

  // latin1 keeps every byte as it is.
  for await (const line of createInterface({
    input: createReadStream(file, 'latin1'),
    crlfDelay: Infinity,
  })) {
    events += 1;
    let event;
    try {
      event = readEvent(Buffer.from(line, 'latin1'), before, organizationId);
    } catch (difference) {
      throw leaves.length < size && difference.position > sealedUpTo ? missing() : difference;
    }
    const { position, digest } = event;
    if (leaves.length === size) {
      demand(position > sealedUpTo, position, 'put in after the checkpoint was made');
      before = event;
      continue;
    }
    if (position > sealedUpTo) throw missing();
    before = event;
    if (leaves.length === provedEvents) firstAfterParts = position;
    leaves.push(sha256(Buffer.of(0), int64(position), Buffer.from(digest, 'hex')));
    const part = parts.find(({ end }) => end === leaves.length);
    if (part) {
      const isSame = treeHash(leaves, part.start, part.end).equals(part.hash);
      demand(isSame, part.first, `another history between ${part.first} and ${part.last}`);
      provedEvents = part.end;
    }
    if (leaves.length === size) {
      demand(treeHash(leaves, 0, size).equals(root), firstAfterParts, 'another history after the last part');
      provedEvents = size;
    }
  }
  if (leaves.length < size) throw missing();
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { checkpoint: { type: 'string' }, key: { type: 'string' } },
});
const key = existsSync(values.key) ? readFileSync(values.key, 'utf8') : values.key;
const verdict = await verifyHistory(positionals[0], readFileSync(values.checkpoint, 'utf8'), key.trim()).then(
  () => ({ ok: true, events, provedEvents, firstWrongPosition: null, reason: null }),
  (error) => {
    if (!(error instanceof Difference)) throw error;
    return { ok: false, events, provedEvents, firstWrongPosition: error.position, reason: error.message };
  },
);
console.log(JSON.stringify(verdict));
process.exitCode = verdict.ok ? 0 : 1;
