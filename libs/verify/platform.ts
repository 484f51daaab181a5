/** What the verifier needs of Node.js or a browser. It imports nothing, so that the verifier is one file for both. */

export const HASH = 32;

type Bytes = Uint8Array<ArrayBuffer>;

type NodeCrypto = {
  hash: (algorithm: string, data: string | Uint8Array, encoding: 'binary' | 'hex') => string;
  createPublicKey: (key: object) => object;
  verify: (algorithm: null, data: Uint8Array, key: object, signature: Uint8Array) => boolean;
};
const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
const node = process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined;

const encoder = new TextEncoder();
/** Throws a TypeError if bytes are not UTF-8. */
export const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const bytesOf = (text: string): Bytes => encoder.encode(text);

/**
 * The SHA-256 of a string (UTF-8) or bytes. Node.js returns it as a string three times as fast as in a buffer. WebCrypto would
 * need a promise for each of a million hashes.
 */
export function sha256(data: string | Uint8Array): Bytes {
  const hash = new Uint8Array(HASH);
  const bytes = node?.hash('sha256', data, 'binary');
  const words = bytes === undefined ? wordsOf(typeof data === 'string' ? bytesOf(data) : data) : [];
  for (let n = 0; n < HASH; n += 1) hash[n] = bytes?.charCodeAt(n) ?? words[n >> 2]! >>> (24 - 8 * (n & 3));
  return hash;
}

/** The SHA-256 in hexadecimal. */
export const hexSha256 = (data: string | Uint8Array) =>
  node ? node.hash('sha256', data, 'hex') : hexOf(sha256(data));

/** The first 32 bits of the fractional parts of roots of the first primes (FIPS 180-4, sections 4.2.2 and 5.3.3). */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return Int32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32);
}

const INITIAL = fractions(8, Math.sqrt);
const ROUNDS = fractions(64, Math.cbrt);
const schedule = new Int32Array(64);
const rotated = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));

/** SHA-256 (FIPS 180-4, section 6.2) for browsers. @returns eight words. */
function wordsOf(message: Uint8Array): Int32Array {
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  const state = Int32Array.from(INITIAL);
  for (let block = 0; block < padded.length; block += 64) {
    let [a, b, c, d] = [state[0]!, state[1]!, state[2]!, state[3]!];
    let [e, f, g, h] = [state[4]!, state[5]!, state[6]!, state[7]!];
    for (let t = 0; t < 64; t += 1) {
      const [x, y] = [schedule[t - 15]!, schedule[t - 2]!];
      const w0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
      const w1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
      schedule[t] = t < 16 ? view.getInt32(block + 4 * t) : schedule[t - 16]! + w0 + schedule[t - 7]! + w1;
      const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[t]! + schedule[t]!) | 0;
      const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
      const other = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + other) | 0];
    }
    for (const [n, word] of [a, b, c, d, e, f, g, h].entries()) state[n]! += word;
  }
  return state;
}

/** Writes a safe integer in 8 bytes, big-endian. */
export function writeInt64(number: number, into: Uint8Array, at: number): void {
  const view = new DataView(into.buffer, into.byteOffset);
  view.setInt32(at, Math.floor(number / 2 ** 32));
  view.setUint32(at + 4, number);
}

export const areSame = (one: Uint8Array, other: Uint8Array) =>
  one.length === other.length && one.every((byte, n) => byte === other[n]);

export function joined(one: Uint8Array, other: Uint8Array): Bytes {
  const whole = new Uint8Array(one.length + other.length);
  whole.set(one);
  whole.set(other, one.length);
  return whole;
}

export const hexOf = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const digitOf = (code: number) => (code < 0x3a ? code - 0x30 : code - 0x57);

/** Writes hexadecimal digits in lower case as bytes. Skips hyphens between bytes. */
export function writeHex(hex: string, into: Uint8Array, start: number): void {
  for (let n = 0, at = start; n < hex.length; n += 2, at += 1) {
    if (hex.charCodeAt(n) === 0x2d) n += 1;
    into[at] = (digitOf(hex.charCodeAt(n)) << 4) | digitOf(hex.charCodeAt(n + 1));
  }
}

export const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

/** Decodes base64 (RFC 4648). Undefined if the text is not the one encoding of its bytes. */
export function fromBase64(text = ''): Bytes | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : undefined;
}

export const hashOf = (text?: string) => (text?.length === 44 ? fromBase64(text) : undefined);

/** Parses RFC 3339 in UTC with milliseconds, as milliseconds since 1970. Undefined for any other text. */
export function timeOf(text = ''): number | undefined {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? Date.parse(text) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString() === text ? time : undefined;
}

/** A decimal number without leading zeros. Undefined for any other text. */
export function wholeNumber(text: string | undefined): number | undefined {
  const number = text !== undefined && /^(0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

/** The browser does not support Ed25519, so nothing can be verified. */
export class Unable extends Error {}

/** The SubjectPublicKeyInfo of an Ed25519 key without its 32 bytes (RFC 8410, section 4). */
const SPKI_PREFIX = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);

/** Whether this is the Ed25519 signature of the text. @throws Unable */
export async function isEd25519(publicKey: Uint8Array, signed: string, signature: Uint8Array) {
  const [spki, text] = [joined(SPKI_PREFIX, publicKey), bytesOf(signed)];
  if (node) {
    const key = node.createPublicKey({ key: spki, format: 'der', type: 'spki' });
    return node.verify(null, text, key, signature);
  }
  let key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
  try {
    key = await crypto.subtle.importKey('spki', spki, { name: 'Ed25519' }, false, ['verify']);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'DataError') return false;
    throw new Unable('This browser does not support Ed25519.', { cause: error });
  }
  return crypto.subtle.verify({ name: 'Ed25519' }, key, signature.slice(), text);
}
