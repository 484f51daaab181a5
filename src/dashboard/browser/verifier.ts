/**
 * Verifies an exported history in a browser with WebCrypto. Implements docs/spec/history-format.md and shares no code
 * with the server.
 */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };
type Bytes = Uint8Array<ArrayBuffer>;

/** Reason codes. The page translates them. */
export type Reason =
  | 'note'
  | 'key'
  | 'unsigned'
  | 'signature'
  | 'tree'
  | 'line'
  | 'spelling'
  | 'missing'
  | 'order'
  | 'foreign'
  | 'digest'
  | 'version'
  | 'root'
  | 'unreadable'
  | 'personal'
  | 'late'
  | 'successor';

export type Verdict = {
  ok: boolean;
  events: number;
  provedEvents: number;
  newerEvents: number;
  /** Null if the history only as a whole is wrong, or if nothing is. */
  firstWrongPosition: number | null;
  reason: Reason | null;
  warningCount: number;
  size: number | null;
  sealedAt: string | null;
};

/** The browser does not support Ed25519. */
export class Unable extends Error {}

/** The first difference found. Ends the verification. */
class Difference extends Error {
  constructor(
    readonly position: number | null,
    readonly reason: Reason,
  ) {
    super(reason);
  }
}

function demand(condition: boolean, position: number | null, reason: Reason): asserts condition {
  if (!condition) throw new Difference(position, reason);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isId = (value: unknown) => isText(value) && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(value);
const isWhole = (from: number, to: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= from && (value as number) <= to;
const orNull = (is: (value: unknown) => boolean) => (value: unknown) => value === null || is(value);

/** The members of a line, in canonical order. */
const MEMBERS: [name: string, is: (value: unknown) => boolean][] = [
  ['position', isWhole(1, Number.MAX_SAFE_INTEGER)],
  ['previousPosition', isWhole(0, Number.MAX_SAFE_INTEGER)],
  ['organizationId', isText],
  ['streamType', isText],
  ['streamId', isId],
  ['version', isWhole(1, 2_147_483_647)],
  ['eventId', isText],
  ['type', isText],
  ['schema', isWhole(1, 32_767)],
  ['data', isObject],
  ['personal', orNull(isObject)],
  ['encryptedPersonal', orNull(isText)],
  ['subjectId', orNull(isId)],
  ['metadata', isObject],
  ['recordedAt', isText],
  ['digest', isText],
];

type Event = {
  position: number;
  previousPosition: number;
  organizationId: string;
  streamType: string;
  streamId: string;
  version: number;
  type: string;
  data: JsonObject;
  personal: JsonObject | null;
  encryptedPersonal: string | null;
  subjectId: string | null;
  metadata: JsonObject;
  recordedAt: string;
  digest: string;
};

/** Events of these types destroy the encryption key of their stream's subject. */
const ENDINGS = new Set([
  'ContactErased',
  'ApiKeyRevoked',
  'ApiKeyRotated',
  'SuppressedAddressErased',
  'SignatureConfirmed',
  'SignatureExpired',
  'InvitationRevoked',
  'MemberRemoved',
]);

const LONGEST_LINE = 16 * 1_024 * 1_024;
const DEEPEST = 200;
/** Lines whose digests are computed in parallel, because each WebCrypto call crosses threads. */
const BATCH = 256;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

function joined(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function int64(number: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, BigInt(number));
  return bytes;
}

const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

function bytesOfHex(hex: string): Bytes {
  return Uint8Array.from({ length: hex.length / 2 }, (_, n) => parseInt(hex.slice(2 * n, 2 * n + 2), 16));
}

/** Decodes canonical base64. Returns no bytes for anything else. */
function fromBase64(text = ''): Bytes {
  try {
    const binary = atob(text);
    if (btoa(binary) !== text) return new Uint8Array();
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function areSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, n) => byte === other[n]);
}

/** RFC 8785: numbers and strings as ECMAScript serializes them, members sorted by UTF-16 code units. */
function canonical(json: Json): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json);
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`;
  const members = Object.entries(json).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join()}}`;
}

function isDeeper(json: Json, levels: number): boolean {
  if (json === null || typeof json !== 'object') return false;
  return levels === 0 || Object.values(json).some((inner) => isDeeper(inner, levels - 1));
}

/** Parses whole numbers that are written as in ECMAScript. Returns NaN for anything else. */
function wholeNumber(text: string | undefined): number {
  const number = parseInt(text ?? '', 10);
  return String(number) === text && Number.isSafeInteger(number) && number >= 0 ? number : Number.NaN;
}

/** Whether a text is an RFC 3339 time in UTC with milliseconds. */
function isMoment(text: string | undefined): text is string {
  if (text?.length !== 24) return false;
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}

type Key = { name: string; id: string; bytes: Bytes };

async function keyId(name: string, key: Bytes): Promise<string> {
  return hexOf((await sha256(joined(encoder.encode(`${name}\n`), key))).subarray(0, 4));
}

async function readKey(text: string): Promise<Key> {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  demand(name !== undefined && id !== undefined, null, 'key');
  const bytes = fromBase64(encoded);
  demand(bytes.length === 33 && bytes[0] === 1 && (await keyId(name, bytes)) === id, null, 'key');
  return { name, id, bytes };
}

/** @throws Unable if the browser does not support Ed25519. */
async function isSignature(key: Bytes, text: string, signature: Bytes): Promise<boolean> {
  let imported: CryptoKey;
  try {
    imported = await crypto.subtle.importKey('raw', key.slice(1), { name: 'Ed25519' }, false, ['verify']);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'DataError') return false;
    throw new Unable('This browser does not support Ed25519.', { cause: error });
  }
  return crypto.subtle.verify({ name: 'Ed25519' }, imported, signature, encoder.encode(text));
}

type Part = { first: number; last: number; start: number; end: number; hash: Bytes };

export type Checkpoint = {
  organizationId: string;
  size: number;
  root: Bytes;
  position: number;
  sealedAt: string;
  parts: Part[];
};

/** The parts of a tree: complete subtrees from the left. Undefined if the lines are not valid parts. */
function readParts(lines: readonly string[], size: number): Part[] | undefined {
  const parts: Part[] = [];
  let end = 0;
  for (const line of lines) {
    const fields = line.split(' ');
    const [first = Number.NaN, last = Number.NaN, leaves = Number.NaN] = fields.map(wholeNumber);
    const hash = fromBase64(fields[3]);
    const start = end;
    end += leaves;
    const isComplete = Number.isInteger(Math.log2(leaves)) && start % leaves === 0 && end <= size;
    if (fields.length !== 4 || !(first >= 0 && last >= 0) || hash.length !== 32 || !isComplete)
      return undefined;
    parts.push({ first, last, start, end, hash });
  }
  return parts;
}

/** @throws Difference if this is not a checkpoint signed by this key. */
export async function openCheckpoint(note: string, verifierKey: string): Promise<Checkpoint> {
  return openWith(note, await readKey(verifierKey.trim()));
}

async function openWith(note: string, { name, id, bytes: key }: Key): Promise<Checkpoint> {
  const [, text, lines] = /^(.*\n)\n(.*\n)$/s.exec(note) ?? [];
  demand(text !== undefined && lines !== undefined, null, 'note');
  let isSigned = false;
  for (const line of lines.split('\n').slice(0, -1)) {
    const [, signer, signature] = /^— ([^+\s]+) (\S+)$/.exec(line) ?? [];
    const bytes = fromBase64(signature);
    demand(bytes.length > 4, null, 'note');
    if (signer !== name || hexOf(bytes.subarray(0, 4)) !== id) continue;
    demand(await isSignature(key, text, bytes.slice(4)), null, 'signature');
    isSigned = true;
  }
  demand(isSigned, null, 'unsigned');

  const [origin = '', size, root, position, sealed, ...parts] = text.split('\n').slice(0, -1);
  demand(/^advocacy-api\/\S+$/.test(origin) && (name === origin || name === 'advocacy-api'), null, 'tree');
  const sealedAt = sealed?.replace(/^sealed /, '');
  const checkpoint = {
    organizationId: origin.replace('advocacy-api/', ''),
    size: wholeNumber(size),
    root: fromBase64(root),
    position: wholeNumber(position?.replace(/^position /, '')),
  };
  demand(checkpoint.size >= 0 && checkpoint.root.length === 32, null, 'tree');
  demand(position?.startsWith('position ') === true && checkpoint.position >= 0, null, 'tree');
  demand(sealed?.startsWith('sealed ') === true && isMoment(sealedAt), null, 'tree');
  demand(
    parts.every((part) => part.startsWith('part ')),
    null,
    'tree',
  );
  const read = readParts(
    parts.map((part) => part.replace(/^part /, '')),
    checkpoint.size,
  );
  demand(read !== undefined, null, 'tree');
  return { ...checkpoint, sealedAt, parts: read };
}

/** RFC 6962, section 2.1. Caches the hashes of complete subtrees. */
class Tree {
  private readonly leaves: Bytes[] = [];
  private readonly known = new Map<string, Bytes>();

  get size(): number {
    return this.leaves.length;
  }

  add(hash: Bytes): void {
    this.leaves.push(hash);
  }

  /** The hash over the leaves from `start` to before `end`. */
  async hash(start: number, end: number): Promise<Bytes> {
    if (end === start) return sha256(new Uint8Array());
    if (end - start === 1) return this.leaves[start]!;
    const name = `${start}-${end}`;
    const known = this.known.get(name);
    if (known) return known;
    let half = 1;
    while (half * 2 < end - start) half *= 2;
    const isComplete = half * 2 === end - start && end - start <= BATCH;
    const hash = isComplete
      ? await complete(this.leaves.slice(start, end))
      : await nodeOf(await this.hash(start, start + half), await this.hash(start + half, end));
    if (end - start >= BATCH) this.known.set(name, hash);
    return hash;
  }
}

function nodeOf(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(joined(Uint8Array.of(1), left, right));
}

/** The hash of a complete subtree, computed level by level. */
async function complete(hashes: readonly Bytes[]): Promise<Bytes> {
  let level = hashes;
  while (level.length > 1) {
    const below = level;
    level = await Promise.all(
      Array.from({ length: below.length / 2 }, (_, n) => nodeOf(below[2 * n]!, below[2 * n + 1]!)),
    );
  }
  return level[0]!;
}

/** Whether a line has its canonical spelling. Also accepts lines of versions up to 0.3.0, which did not sort the members of values. */
function isSpelled(text: string, event: JsonObject): boolean {
  let rest = text;
  for (const [n, [name]] of MEMBERS.entries()) {
    const value = event[name]!;
    const before = `${n === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    const form = [canonical(value), JSON.stringify(value)].find((one) => rest.startsWith(before + one));
    if (form === undefined) return false;
    rest = rest.slice(before.length + form.length);
  }
  return rest === '}';
}

/** A parsed line and its digest; both are missing if it is not valid JSON. */
type Line = {
  bytes: Bytes;
  text: string | undefined;
  event: Json | undefined;
  digest: string | undefined;
  /** That of the readable personal data, if the event states one. */
  personalDigest?: string | undefined;
};

async function readLine(bytes: Bytes): Promise<Line> {
  try {
    const text = decoder.decode(bytes);
    const event = JSON.parse(text) as Json;
    if (!isObject(event)) return { bytes, text, event, digest: undefined };
    const [digest, personalDigest] = await Promise.all([digestOf(event), digestOfPersonal(event)]);
    return { bytes, text, event, digest, personalDigest };
  } catch {
    return { bytes, text: undefined, event: undefined, digest: undefined };
  }
}

async function digestOf(event: JsonObject): Promise<string | undefined> {
  const { recordedAt, encryptedPersonal = null } = event;
  if (!isText(recordedAt) || !isMoment(recordedAt)) return undefined;
  const digested = Object.fromEntries(
    [
      'data',
      'eventId',
      'metadata',
      'organizationId',
      'schema',
      'streamId',
      'streamType',
      'subjectId',
      'type',
      'version',
    ].map((name) => [name, event[name] ?? null]),
  );
  const body = await sha256(encoder.encode(canonical({ ...digested, personal: encryptedPersonal })));
  return hexOf(await sha256(joined(body, int64(Date.parse(recordedAt)))));
}

async function digestOfPersonal({
  personal = null,
  metadata = null,
}: JsonObject): Promise<string | undefined> {
  if (personal === null || !isObject(metadata) || metadata.personalDigest === undefined) return undefined;
  return hexOf(await sha256(encoder.encode(canonical(personal))));
}

/** The leaf hash of a line; undefined if it has none. */
function leafOf({ event, digest }: Line): Promise<Bytes | undefined> {
  const isLeaf =
    digest !== undefined && isObject(event) && isWhole(0, Number.MAX_SAFE_INTEGER)(event.position);
  if (!isLeaf) return Promise.resolve(undefined);
  return sha256(joined(Uint8Array.of(0), int64(event.position as number), bytesOfHex(digest)));
}

/** @throws Difference if the line is not an event, or does not follow `before`. */
function eventOf(
  line: Line,
  before: { position: number; previousPosition: number },
  organizationId: string,
): Event {
  const next = before.position + 1;
  demand(line.text !== undefined && isObject(line.event), next, 'line');
  demand(line.bytes.length <= LONGEST_LINE, next, 'line');
  const found = line.event;
  for (const [name, is] of MEMBERS) demand(is(found[name]), next, 'line');
  const event = found as unknown as Event;
  const { position, previousPosition, data, personal, metadata } = event;
  demand(![data, personal, metadata].some((value) => isDeeper(value, DEEPEST)), next, 'line');
  demand(isSpelled(line.text, found), next, 'spelling');

  const disputed = previousPosition > before.previousPosition ? previousPosition : before.position;
  demand(previousPosition === before.position, disputed, 'order');
  demand(position > before.position, next, 'order');
  demand(event.organizationId === organizationId, position, 'foreign');
  demand(personal === null || event.encryptedPersonal !== null, position, 'personal');
  demand(
    line.personalDigest === undefined || line.personalDigest === metadata.personalDigest,
    position,
    'personal',
  );
  demand(isMoment(event.recordedAt), position, 'line');
  demand(line.digest === event.digest, position, 'digest');
  return event;
}

/** The lines of a stream in batches, without line feeds. An unterminated or oversized line becomes an invalid line. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Bytes[]> {
  let rest: Bytes = new Uint8Array();
  let batch: Bytes[] = [];
  for await (const chunk of chunks) {
    rest = joined(rest, chunk);
    let start = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
      batch.push(rest.slice(start, end));
      start = end + 1;
      if (batch.length === BATCH) {
        yield batch;
        batch = [];
      }
    }
    rest = rest.slice(start);
    if (rest.length > LONGEST_LINE) break;
  }
  if (rest.length > 0) batch.push(encoder.encode('no line'));
  if (batch.length > 0) yield batch;
}

/**
 * @param download starts reading the export. Called twice if the key did not sign the checkpoint.
 * @param onProgress called after each batch with the number of events checked.
 */
export async function verifyHistory(
  download: () => AsyncIterable<Uint8Array>,
  note: string,
  verifierKey: string,
  onProgress: (events: number, of: number) => void,
): Promise<Verdict> {
  const verdict: Verdict = {
    ...{ ok: true, events: 0, provedEvents: 0, newerEvents: 0, firstWrongPosition: null },
    ...{ reason: null, warningCount: 0, size: null, sealedAt: null },
  };
  try {
    const checkpoint = await follow(note, verifierKey, download);
    Object.assign(verdict, { size: checkpoint.size, sealedAt: checkpoint.sealedAt });
    await compare(download(), checkpoint, verdict, onProgress);
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
    Object.assign(verdict, { ok: false, firstWrongPosition: error.position, reason: error.reason });
  }
  return verdict;
}

/** Opens the checkpoint with the key. If the key did not sign it, uses the latest successor that did. */
async function follow(
  note: string,
  verifierKey: string,
  download: () => AsyncIterable<Uint8Array>,
): Promise<Checkpoint> {
  const key = await readKey(verifierKey.trim());
  try {
    return await openWith(note, key);
  } catch (error) {
    if (!(error instanceof Difference) || error.reason !== 'unsigned') throw error;
    const organizationId = note.split('\n', 1)[0]!.replace('advocacy-api/', '');
    const later = await successorsOf(key, organizationId, download());
    for (const other of later.reverse()) {
      try {
        return await openWith(note, other);
      } catch (refused) {
        if (!(refused instanceof Difference) || refused.reason !== 'unsigned') throw refused;
      }
    }
    throw error;
  }
}

/** The successors of a key in the history. Each predecessor must have signed its successor. */
async function successorsOf(
  key: Key,
  organizationId: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Key[]> {
  const keys: Key[] = [];
  let last = key;
  for await (const lines of linesOf(chunks)) {
    for (const line of lines) {
      let event: Json;
      try {
        event = JSON.parse(decoder.decode(line)) as Json;
      } catch {
        continue;
      }
      if (!isObject(event) || event.streamType !== 'signing-key' || event.type !== 'SigningKeyRotated')
        continue;
      if (!isObject(event.data)) continue;
      const { from, to, signature } = event.data;
      if (!isText(from) || !isText(to) || !isText(signature)) continue;
      const before = await readKey(from).catch(() => undefined);
      if (!before || !areSame(before.bytes, last.bytes)) continue;
      const statement = `advocacy-api signing key\n${organizationId}\n${from}\n${to}\n`;
      demand(await isSignature(last.bytes, statement, fromBase64(signature)), null, 'successor');
      const { bytes } = await readKey(to);
      last = { name: key.name, id: await keyId(key.name, bytes), bytes };
      keys.push(last);
    }
  }
  return keys;
}

/** Updates the verdict while it reads. @throws Difference at the first difference */
async function compare(
  chunks: AsyncIterable<Uint8Array>,
  { organizationId, size, root, position: sealedUpTo, sealedAt, parts }: Checkpoint,
  verdict: Verdict,
  onProgress: (events: number, of: number) => void,
): Promise<void> {
  if (size === 0) demand(areSame(root, await sha256(new Uint8Array())), null, 'root');
  const tree = new Tree();
  const partsByEnd = new Map(parts.map((part) => [part.end, part]));
  const streams = new Map<string, { version: number; recordedAt: string }>();
  const unreadable = new Map<string, number>();
  const ended = new Set<string>();
  let latest = -Infinity;
  let before = { position: 0, previousPosition: -1 };
  let firstAfterParts = 1;
  const missing = () =>
    new Difference(before.position < sealedUpTo ? before.position + 1 : firstAfterParts, 'missing');

  for await (const batch of linesOf(chunks)) {
    const lines = await Promise.all(batch.map(readLine));
    const hashes = await Promise.all(lines.map(leafOf));
    for (const [n, line] of lines.entries()) {
      verdict.events += 1;
      let event: Event;
      try {
        event = eventOf(line, before, organizationId);
      } catch (error) {
        const isBeyond = error instanceof Difference && (error.position ?? 0) > sealedUpTo;
        throw tree.size < size && isBeyond ? missing() : error;
      }
      const { position, streamId, subjectId, version, recordedAt } = event;
      const isNewer = tree.size === size;
      if (isNewer) demand(position > sealedUpTo, position, 'late');
      else if (position > sealedUpTo) throw missing();
      if (isNewer) verdict.newerEvents += 1;

      const previous = streams.get(streamId);
      demand(version === (previous?.version ?? 0) + 1, position, 'version');
      const time = Date.parse(recordedAt);
      const wentBack = time < latest - 60_000 || (previous !== undefined && recordedAt < previous.recordedAt);
      if (wentBack || (!isNewer && time > Date.parse(sealedAt) + 60_000)) verdict.warningCount += 1;
      latest = Math.max(latest, time);
      streams.set(streamId, { version, recordedAt });
      if (ENDINGS.has(event.type)) ended.add(streamId);
      const isUnreadable = event.encryptedPersonal !== null && event.personal === null;
      if (isUnreadable && !unreadable.has(subjectId!)) unreadable.set(subjectId!, position);

      before = event;
      if (isNewer) continue;
      if (tree.size === verdict.provedEvents) firstAfterParts = position;
      tree.add(hashes[n]!);
      const part = partsByEnd.get(tree.size);
      if (part) {
        demand(areSame(await tree.hash(part.start, part.end), part.hash), part.first, 'root');
        verdict.provedEvents = part.end;
      }
      if (tree.size === size) {
        demand(areSame(await tree.hash(0, size), root), firstAfterParts, 'root');
        verdict.provedEvents = size;
      }
    }
    onProgress(verdict.events, size);
  }
  if (tree.size < size) throw missing();
  const unexplained = [...unreadable].filter(([subjectId]) => !ended.has(subjectId)).map(([, at]) => at);
  demand(unexplained.length === 0, unexplained.length === 0 ? null : Math.min(...unexplained), 'unreadable');
}
