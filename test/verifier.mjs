/**
 * The second verifier: node test/verifier.mjs FILE --checkpoint C --key K [--parts P] [--proof T] [--register R]
 *
 * Written as literally as possible from docs/spec/history-format.md only. It imports nothing but Node.js modules,
 * and keeps the hash of every leaf in memory. It prints the verdict, and exits with 0 if that is ok.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const isText = (value) => typeof value === 'string';
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isId = (value) => isText(value) && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(value);
const isNumber = (from, to) => (value) => Number.isInteger(value) && value >= from && value <= to;
const orNull = (is) => (value) => value === null || is(value);

/** The fields of a line, in their order. */
const FIELDS = {
  position: isNumber(1, Number.MAX_SAFE_INTEGER),
  previousPosition: isNumber(0, Number.MAX_SAFE_INTEGER),
  ...{ organizationId: isText, streamType: isText, streamId: isId, version: isNumber(1, 2147483647) },
  ...{
    eventId: isText,
    type: isText,
    schema: isNumber(1, 32767),
    data: isObject,
    personal: orNull(isObject),
  },
  ...{ encryptedPersonal: orNull(isText), subjectId: orNull(isId), metadata: isObject },
  ...{ recordedAt: isText, digest: isText },
};

/** Events of these types destroy the encryption key of the person, API key or request of their stream. */
const ENDINGS = [
  ...['ContactErased', 'ApiKeyRevoked', 'ApiKeyRotated', 'SuppressedAddressErased'],
  ...['SignatureConfirmed', 'SignatureExpired', 'SignUpConfirmed', 'SignUpExpired'],
  ...['InvitationRevoked', 'MemberRemoved'],
];

const UNSIGNED = 'not signed with this key';

const LONGEST_LINE = 16 * 1024 * 1024;

/** The first difference, which ends the verification. */
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

/** RFC 8785: numbers and strings as in ECMAScript, members sorted by their UTF-16 units. */
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

/** RFC 4648. Node.js also accepts other encodings of the same bytes, which are invalid here. */
function fromBase64(text = '') {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : Buffer.of();
}

/** @returns the number if the text is its ECMAScript form, otherwise NaN. */
function wholeNumber(text) {
  return String(parseInt(text, 10)) === text && Number.isSafeInteger(+text) && +text >= 0 ? +text : NaN;
}

/** RFC 3339, UTC, milliseconds. */
function isMoment(text) {
  const time = new Date(text);
  return text.length === 24 && !Number.isNaN(time.getTime()) && time.toISOString() === text;
}

function isDeeper(json, levels) {
  if (json === null || typeof json !== 'object') return false;
  return levels === 0 || Object.values(json).some((inner) => isDeeper(inner, levels - 1));
}

/** @returns name, id and bytes of a verifier key. */
function readKey(verifierKey) {
  const [, name, keyId, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(verifierKey) ?? [];
  demand(name, null, 'no verifier key');
  const key = fromBase64(encoded);
  demand(key.length === 33 && key[0] === 1, null, 'no Ed25519 key');
  const id = sha256(Buffer.from(`${name}\n`), key).subarray(0, 4);
  demand(id.toString('hex') === keyId, null, 'the key id is not that of the key');
  return { name, keyId, key };
}

const isSignature = (key, text, signature) => {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.subarray(1).toString('base64url') };
  return verify(null, Buffer.from(text), createPublicKey({ key: jwk, format: 'jwk' }), signature);
};

/** The verifier keys that replaced this one according to the history. Each is signed by the previous one. */
function* successors(given, organizationId, events) {
  const { name, key } = readKey(given);
  let last = key;
  for (const { data } of events) {
    const { from, to, signature } = data;
    let before;
    try {
      before = readKey(from).key;
    } catch {
      continue;
    }
    if (!isText(to) || !isText(signature) || !before.equals(last)) continue;
    const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
    demand(isSignature(last, statement, fromBase64(signature)), null, 'a false successor of the key');
    last = readKey(to).key;
    const id = sha256(Buffer.from(`${name}\n`), last).subarray(0, 4);
    yield `${name}+${id.toString('hex')}+${last.toString('base64')}`;
  }
}

async function rotationsOf(file) {
  const events = [];
  for await (const line of linesOf(file)) {
    try {
      const event = JSON.parse(line);
      if (event.streamType === 'signing-key' && event.type === 'SigningKeyRotated' && isObject(event.data))
        events.push(event);
    } catch {
      // Reported later.
    }
  }
  return events;
}

/** Opens a checkpoint with the key, or with its latest successor that signed it. */
async function followCheckpoint(note, verifierKey, file) {
  try {
    return openCheckpoint(note, verifierKey);
  } catch (difference) {
    if (difference.message !== UNSIGNED) throw difference;
    const organizationId = note.split('\n', 1)[0].replace('advocacy-api/', '');
    for (const key of [...successors(verifierKey, organizationId, await rotationsOf(file))].reverse()) {
      try {
        const { name, keyId } = readKey(verifierKey);
        return { ...openCheckpoint(note, key), givenKey: `${name}+${keyId}` };
      } catch (other) {
        if (other.message !== UNSIGNED) throw other;
      }
    }
    throw difference;
  }
}

function openCheckpoint(note, verifierKey) {
  const { name, keyId, key } = readKey(verifierKey);
  const id = Buffer.from(keyId, 'hex');
  const [, text, lines] = /^(.*\n)\n(.*\n)$/s.exec(note) ?? [];
  demand(text, null, 'no signed note');
  let isSigned = false;
  for (const line of lines.split('\n').slice(0, -1)) {
    const [, signer, signature] = /^— ([^+\s]+) (\S+)$/.exec(line) ?? [];
    const bytes = fromBase64(signature);
    demand(bytes.length > 4, null, 'not a signature line');
    if (signer !== name || !bytes.subarray(0, 4).equals(id)) continue;
    demand(isSignature(key, text, bytes.subarray(4)), null, 'a false signature');
    isSigned = true;
  }
  demand(isSigned, null, UNSIGNED);

  const [origin, size, root, position, sealed, ...parts] = text.split('\n').slice(0, -1);
  const logId = origin.replace(/^advocacy-api\//, '');
  demand(origin !== logId && (logId === 'all' || isId(logId)), null, 'no origin');
  demand(name === origin || name === 'advocacy-api', null, 'a key for other checkpoints');
  const checkpoint = {
    organizationId: origin.replace('advocacy-api/', ''),
    size: wholeNumber(size),
    root: fromBase64(root),
    position: wholeNumber(position?.replace(/^position /, '')),
    sealedAt: sealed?.replace(/^sealed /, ''),
    key: `${name}+${keyId}`,
    signer: key,
  };
  demand(checkpoint.size >= 0 && checkpoint.root.length === 32, null, 'no tree');
  demand(/^position /.test(position) && checkpoint.position >= 0, null, 'no position');
  demand(/^sealed /.test(sealed) && isMoment(checkpoint.sealedAt), null, 'no time');
  demand(
    parts.every((part) => part.startsWith('part ')),
    null,
    'another line',
  );
  checkpoint.parts = readParts(
    parts.map((part) => part.replace(/^part /, '')),
    checkpoint,
  );
  demand(checkpoint.parts, null, 'no parts of the tree');
  return checkpoint;
}

/** @returns undefined if the lines are not complete subtrees from the left. */
function readParts(lines, { size }) {
  const parts = [];
  let end = 0;
  for (const line of lines) {
    const fields = line.split(' ');
    const [first, last, leaves] = fields.map(wholeNumber);
    const hash = fromBase64(fields[3]);
    const start = end;
    end += leaves;
    const isComplete = Number.isInteger(Math.log2(leaves)) && start % leaves === 0 && end <= size;
    if (fields.length !== 4 || !(first >= 0 && last >= 0) || hash.length !== 32 || !isComplete) return;
    parts.push({ first, last, start, end, hash });
  }
  return parts;
}

/** @returns undefined if the parts from the server do not match the checkpoint. */
function openParts(text, { size, root, position }) {
  const parts =
    text === '' || text.endsWith('\n') ? readParts(text.split('\n').slice(0, -1), { size }) : undefined;
  const ascend = parts?.every(
    ({ first, last, start, end }, n) =>
      first > (parts[n - 1]?.last ?? 0) && last - first + 1 >= end - start && last <= position,
  );
  return ascend && hashOfParts(parts, 0, size)?.equals(root) ? parts : undefined;
}

function hashOfParts(parts, start, end) {
  if (end === start) return sha256();
  const part = parts.find((one) => one.start === start && one.end === end);
  if (part || end - start === 1) return part?.hash;
  let k = 1;
  while (k * 2 < end - start) k *= 2;
  const [left, right] = [hashOfParts(parts, start, start + k), hashOfParts(parts, start + k, end)];
  return left && right && sha256(Buffer.of(1), left, right);
}

/** @returns the index of the checkpoint in the log of all organizations, according to a tlog-proof. */
function openProof(text, { organizationId, size, root, signer }) {
  const [, number, hashes, note] =
    /^c2sp\.org\/tlog-proof@v1\nindex (\d+)\n((?:\S+\n)*)\n(.*)$/s.exec(text) ?? [];
  demand(note, null, 'no tlog-proof');
  const id = sha256(Buffer.from('advocacy-api/all\n'), signer).subarray(0, 4).toString('hex');
  const log = openCheckpoint(note, `advocacy-api/all+${id}+${signer.toString('base64')}`);
  const index = wholeNumber(number);
  const path = hashes.split('\n').slice(0, -1).map(fromBase64);
  const leaf = Buffer.concat([Buffer.from(organizationId.replaceAll('-', ''), 'hex'), int64(size), root]);
  const isProved =
    path.every(({ length }) => length === 32) &&
    pathHash(sha256(Buffer.of(0), leaf), index, log.size, path)?.equals(log.root);
  demand(isProved, null, 'not in the log of all organizations');
  return { index, size: log.size, sealedAt: log.sealedAt };
}

/** RFC 6962, section 2.1.1, reversed: the root above a leaf, or undefined if the path has a wrong length. */
function pathHash(leaf, index, size, path) {
  if (!(index < size)) return undefined;
  if (size === 1) return path.length === 0 ? leaf : undefined;
  if (path.length === 0) return undefined;
  const [rest, last] = [path.slice(0, -1), path.at(-1)];
  let k = 1;
  while (k * 2 < size) k *= 2;
  const below = index < k ? pathHash(leaf, index, k, rest) : pathHash(leaf, index - k, size - k, rest);
  return below && (index < k ? sha256(Buffer.of(1), below, last) : sha256(Buffer.of(1), last, below));
}

/** A line has one valid spelling, except that values may be unsorted, as written by versions up to 0.3.0. */
function isSpelled(text, event) {
  const spellings = Object.keys(FIELDS).map((name) => {
    const forms = [canonical(event[name]), JSON.stringify(event[name])];
    return forms.map((form) => `${JSON.stringify(name)}:${form}`);
  });
  let rest = text;
  for (const [index, forms] of spellings.entries()) {
    const begins = forms
      .map((form) => (index === 0 ? '{' : ',') + form)
      .find((form) => rest.startsWith(form));
    if (begins === undefined) return false;
    rest = rest.slice(begins.length);
  }
  return rest === '}';
}

/** @throws Difference if the line is not an event, or not the one after `before`. */
function readEvent(bytes, before, organizationId) {
  const next = before.position + 1;
  let text, event;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    event = JSON.parse(text);
  } catch {
    throw new Difference(next, 'no JSON');
  }
  demand(bytes.length <= LONGEST_LINE, next, 'too long');
  demand(isObject(event), next, 'no object');
  for (const [name, is] of Object.entries(FIELDS)) demand(is(event[name]), next, `no ${name}`);
  const { position, previousPosition, data, personal, metadata, encryptedPersonal, recordedAt, digest } =
    event;
  demand(![data, personal, metadata].some((value) => isDeeper(value, 200)), next, 'nested too deeply');
  demand(isSpelled(text, event), next, 'spelled otherwise');

  const isMissing = previousPosition > before.previousPosition;
  const disputed = isMissing ? previousPosition : before.position;
  demand(previousPosition === before.position, disputed, 'an event is missing, or was put in');
  demand(position > before.position, next, 'positions do not ascend');
  demand(event.organizationId === organizationId, position, 'of another organization');
  demand(personal === null || encryptedPersonal !== null, position, 'personal data from nowhere');
  if (personal !== null && metadata.personalDigest !== undefined) {
    const own = sha256(Buffer.from(canonical(personal))).toString('hex');
    demand(own === metadata.personalDigest, position, 'other personal data');
  }
  demand(isMoment(recordedAt), position, 'no time');
  const { eventId, schema, streamId, streamType, subjectId, type, version } = event;
  const digested = { data, eventId, metadata, organizationId, personal: encryptedPersonal, schema };
  const body = sha256(
    Buffer.from(canonical({ ...digested, streamId, streamType, subjectId, type, version })),
  );
  demand(
    sha256(body, int64(Date.parse(recordedAt))).toString('hex') === digest,
    position,
    'not the digest of its content',
  );
  return event;
}

/** The register: R1 to R5, steps 1 and 2. @returns its checkpoint, and its entries by `previous`. */
async function openRegister({ file, checkpoint: note }, given) {
  const { name, key } = readKey(given);
  const origin = 'advocacy-api/00000000-0000-0000-0000-000000000001';
  const id = sha256(Buffer.from(`${origin}\n`), key)
    .subarray(0, 4)
    .toString('hex');
  const verifierKey = name === 'advocacy-api' ? given : `${origin}+${id}+${key.toString('base64')}`;
  const checkpoint = await followCheckpoint(note, verifierKey, file);
  demand(origin.endsWith(`/${checkpoint.organizationId}`), null, 'not the register');
  const { ok, reason } = await verifyHistory(file, note, verifierKey);
  demand(ok, null, `the register: ${reason}`);
  const entries = new Map();
  for await (const line of linesOf(file)) {
    const { position, type, data } = JSON.parse(line);
    if (type !== 'CheckpointsRegistered' || position > checkpoint.position) continue;
    demand(Array.isArray(data.checkpoints), null, 'no entries');
    for (const entry of data.checkpoints) {
      const hashes = [entry?.previous, entry?.size, entry?.root];
      demand(
        hashes.every((hash) => isText(hash) && /^[\da-f]{64}$/.test(hash)),
        null,
        'a malformed entry',
      );
      demand(!entries.has(entry.previous), null, 'two entries after the same one');
      entries.set(entry.previous, entry);
    }
  }
  return { checkpoint, entries };
}

/** R5, steps 3 and 4. @returns the size that was reached, and what is wrong. */
function followRegister({ entries }, organizationId, leaves, size) {
  const hash = (field, value) =>
    sha256(Buffer.from(`advocacy-api register ${field}\n${organizationId}\n${value}\n`)).toString('hex');
  let reached = 0;
  let mistake;
  for (let entry; (entry = entries.get(hash('previous', reached)));) {
    let t = reached + 1;
    while (t <= leaves.length && hash('size', t) !== entry.size) t += 1;
    if (t > leaves.length) break;
    if (hash('root', treeHash(leaves, 0, t).toString('base64')) !== entry.root) {
      mistake = 'the register has another history';
      break;
    }
    reached = t;
  }
  if (reached < size) mistake ??= 'the register does not cover the checkpoint';
  return { reached, mistake };
}

/** @returns the verdict on an export and a checkpoint, with optional parts, proof and register. */
export async function verifyHistory(file, note, verifierKey, givenParts, proof, givenRegister) {
  const verdict = {
    ...{ ok: true, events: 0, provedEvents: 0, newerEvents: 0, firstWrongPosition: null, reason: null },
    ...{ unprovedPersonal: 0, warnings: [], warningCount: 0, checkpoint: null },
  };
  try {
    const checkpoint = await followCheckpoint(note, verifierKey, file);
    const { organizationId, size, position, sealedAt, key, givenKey } = checkpoint;
    const inAll = proof !== undefined && { inAll: openProof(proof, checkpoint) };
    const register = givenRegister && (await openRegister(givenRegister, verifierKey));
    verdict.checkpoint = {
      ...{ organizationId, size, position, sealedAt, key },
      ...(givenKey && { givenKey }),
      ...inAll,
    };
    if (givenParts !== undefined) {
      const parts = openParts(givenParts, checkpoint);
      if (parts) checkpoint.parts = parts;
      else warn(verdict, null, 'the parts are not those of the checkpoint');
    }
    const leaves = await compare(file, checkpoint, verdict);
    if (register) {
      const { reached, mistake } = followRegister(register, organizationId, leaves, size);
      const { size: events, sealedAt: time } = register.checkpoint;
      verdict.checkpoint.register = { events, sealedAt: time, upTo: reached };
      demand(mistake === undefined, null, mistake);
    }
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
    Object.assign(verdict, { ok: false, firstWrongPosition: error.position, reason: error.message });
  }
  return verdict;
}

function warn(verdict, position, reason) {
  verdict.warningCount += 1;
  if (verdict.warnings.length < 20) verdict.warnings.push({ position, reason });
}

/** The lines of a file as bytes without line feeds. Text without a line feed within LONGEST_LINE is not a line. */
async function* linesOf(file) {
  let rest = Buffer.of();
  for await (const chunk of createReadStream(file)) {
    rest = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end; (end = rest.indexOf('\n', start)) >= 0; start = end + 1) yield rest.subarray(start, end);
    rest = rest.subarray(start);
    if (rest.length > LONGEST_LINE) break;
  }
  if (rest.length > 0) yield Buffer.from('no line');
}

/** @returns all leaves. @throws Difference the first one. The verdict reports the progress up to that point. */
async function compare(file, { organizationId, size, root, position: sealedUpTo, sealedAt, parts }, verdict) {
  if (size === 0) demand(root.equals(sha256()), null, 'no events have another root');
  const leaves = [];
  /** The last event by stream, the first event with unreadable data by subject, and whether a subject was erased only after the checkpoint. */
  const [streams, unreadable, ended] = [new Map(), new Map(), new Map()];
  let latest = -Infinity;
  let before = { position: 0, previousPosition: -1 };
  let firstAfterParts = 1;
  const missing = () =>
    new Difference(
      before.position < sealedUpTo ? before.position + 1 : firstAfterParts,
      `${size - leaves.length} of the ${size} events of the checkpoint are missing`,
    );

  for await (const line of linesOf(file)) {
    verdict.events += 1;
    let event;
    try {
      event = readEvent(line, before, organizationId);
    } catch (difference) {
      throw leaves.length < size && difference.position > sealedUpTo ? missing() : difference;
    }
    const { position, digest, streamId, subjectId, version, recordedAt } = event;
    const isNewer = leaves.length >= size;
    if (isNewer) demand(position > sealedUpTo, position, 'put in after the checkpoint was made');
    else if (position > sealedUpTo) throw missing();
    if (isNewer) verdict.newerEvents += 1;

    const previous = streams.get(streamId);
    demand(version === (previous?.version ?? 0) + 1, position, 'not the next version of its stream');
    const time = Date.parse(recordedAt);
    if (previous && recordedAt < previous.recordedAt)
      warn(verdict, position, 'recorded before its predecessor');
    else if (time < latest - 60_000) warn(verdict, position, 'recorded before an earlier position');
    else if (!isNewer && time > Date.parse(sealedAt) + 60_000)
      warn(verdict, position, 'recorded after its checkpoint was sealed');
    latest = Math.max(latest, time);
    streams.set(streamId, { version, recordedAt });
    if (ENDINGS.includes(event.type) && !ended.has(streamId)) ended.set(streamId, isNewer);
    const isUnreadable = event.encryptedPersonal !== null && event.personal === null;
    if (isUnreadable && !unreadable.has(subjectId)) unreadable.set(subjectId, position);

    const isReadable = Object.keys(event.personal ?? {}).length > 0;
    if (isReadable && event.metadata.personalDigest === undefined) verdict.unprovedPersonal += 1;

    before = event;
    if (!isNewer && leaves.length === verdict.provedEvents) firstAfterParts = position;
    leaves.push(sha256(Buffer.of(0), int64(position), Buffer.from(digest, 'hex')));
    if (isNewer) continue;
    const part = parts.find(({ end }) => end === leaves.length);
    if (part) {
      const isSame = treeHash(leaves, part.start, part.end).equals(part.hash);
      demand(isSame, part.first, `another history between ${part.first} and ${part.last}`);
      verdict.provedEvents = part.end;
    }
    if (leaves.length === size) {
      demand(treeHash(leaves, 0, size).equals(root), firstAfterParts, 'another history after the last part');
      verdict.provedEvents = size;
    }
  }
  if (leaves.length < size) throw missing();
  const unexplained = [...unreadable].filter(([subjectId]) => !ended.has(subjectId));
  const [first] = unexplained.map(([, position]) => position).sort((a, b) => a - b);
  demand(first === undefined, first, 'personal data that cannot be read although nobody was erased');
  const explained = [...unreadable].filter(([id, position]) => ended.get(id) && position <= sealedUpTo);
  for (const position of explained.map(([, position]) => position).sort((a, b) => a - b))
    warn(verdict, position, 'personal data whose erasure is newer than the checkpoint');
  return leaves;
}

/** A count certificate: Q1 to Q11. @returns { ok, count, reason } */
export function verifyCertificate(bytes, verifierKey) {
  try {
    return { ok: true, count: countOf(bytes, verifierKey), reason: null };
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
    return { ok: false, count: null, reason: error.message };
  }
}

function countOf(bytes, verifierKey) {
  const whole = bytes.toString();
  demand(Buffer.from(whole).equals(bytes) && whole.endsWith('\n'), null, 'no text, or incomplete');
  const [first, ...lines] = whole.slice(0, -1).split('\n');
  const last = lines.pop();
  const { petitionId, checkpoint: note } = parsed(first);
  demand(isText(petitionId) && isText(note), null, 'no certificate');
  const { organizationId, size, root, position: upTo } = openCheckpoint(note, verifierKey);
  const format = 'advocacy-count-certificate/1';
  const isFirst = JSON.stringify({ format, organizationId, petitionId, checkpoint: note }) === first;
  demand(isFirst, null, 'another first line');
  const nodes = [];
  const end = () => nodes.at(-1)?.end ?? 0;
  const [signatures, versions] = [new Map(), new Map()];
  let position = 0;
  for (const line of lines) {
    if (line.startsWith('{"leaves":')) {
      const { leaves, hash } = parsed(line);
      const isNode = JSON.stringify({ leaves, hash }) === line && Number.isInteger(leaves) && isText(hash);
      demand(isNode && fromBase64(hash).length === 32, null, 'no hash');
      const start = end();
      const isComplete =
        Number.isInteger(Math.log2(leaves)) && start % leaves === 0 && start + leaves <= size;
      demand(isComplete, null, 'no complete subtree');
      nodes.push({ start, end: start + leaves, hash: fromBase64(hash) });
      continue;
    }
    const before = { position, previousPosition: -1 };
    const event = readEvent(Buffer.from(line), before, organizationId);
    const { type, streamId, version, data, personal, digest } = event;
    position = event.position;
    demand(personal === null && position <= upTo && end() < size, null, 'readable, or not covered');
    demand(data.petitionId === petitionId, null, 'of another petition');
    demand(version === (versions.get(streamId) ?? 0) + 1, null, 'an event of its stream is missing');
    versions.set(streamId, version);
    if (type === 'PetitionSigned') {
      demand(version === 1, null, 'not a new signature');
      signatures.set(streamId, {});
    } else if (['SignatureMoved', 'SignatureWithdrawn'].includes(type)) {
      demand(signatures.has(streamId), null, 'its signature is missing');
      if (type === 'SignatureWithdrawn') signatures.get(streamId).isWithdrawn = true;
    } else {
      demand(['SignaturesInvalidated', 'SignaturesRestored'].includes(type), null, 'another type');
      demand(Array.isArray(data.signatureIds), null, 'no signatures');
      for (const id of data.signatureIds) {
        demand(signatures.has(id), null, 'a signature is missing');
        signatures.get(id).isInvalid = type === 'SignaturesInvalidated';
      }
    }
    const hash = sha256(Buffer.of(0), int64(position), Buffer.from(digest, 'hex'));
    nodes.push({ start: end(), end: end() + 1, hash });
  }
  demand(end() === size && hashOfParts(nodes, 0, size)?.equals(root), null, 'another root');
  const all = [...signatures.values()];
  const count = {
    signatures: all.filter(({ isWithdrawn, isInvalid }) => !isWithdrawn && !isInvalid).length,
    withdrawn: all.filter(({ isWithdrawn }) => isWithdrawn).length,
    invalidated: all.filter(({ isWithdrawn, isInvalid }) => !isWithdrawn && isInvalid).length,
  };
  demand(JSON.stringify(count) === last, null, 'another count');
  return count;
}

/** @throws Difference if the line is not a JSON object. */
function parsed(line) {
  try {
    const json = JSON.parse(line);
    if (isObject(json)) return json;
  } catch {
    // Not JSON.
  }
  throw new Difference(null, 'no JSON object');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      ...{ checkpoint: { type: 'string' }, key: { type: 'string' } },
      ...{ parts: { type: 'string' }, proof: { type: 'string' }, register: { type: 'string' } },
    },
  });
  const read = (path) => readFileSync(path, 'utf8');
  const key = existsSync(values.key) ? read(values.key) : values.key;
  const parts = values.parts && read(values.parts);
  const proof = values.proof && read(values.proof);
  const { register: file } = values;
  const register = file && { file, checkpoint: read(`${file}.checkpoint`) };
  const given = [positionals[0], read(values.checkpoint), key.trim(), parts, proof, register];
  const verdict = await verifyHistory(...given);
  console.log(JSON.stringify(verdict));
  process.exitCode = verdict.ok ? 0 : 1;
}
