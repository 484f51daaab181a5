import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
} from 'node:crypto';
import { randomBytes } from '#libs/random';
import { canonical } from './canonical.js';
import { type JsonObject } from './event.js';
import { JustWritten } from './just-written.js';

/** Bytes of a key, of a GCM nonce and of a GCM tag (NIST SP 800-38D). */
export const KEY = 32;
const NONCE = 12;
const TAG = 16;

/**
 * The member of stored personal data that makes its digest unguessable: `personalDigest` in the event's metadata is SHA-256 of
 * the canonical personal data with this member. It is encrypted, and so destroyed, with the rest.
 */
const SALT = '$salt';

/** Members of personal data that no export and no list shows. They only help an attacker who tries keys. */
export const WITHHELD: readonly string[] = ['secretHash'];
const SALT_BYTES = 16;

/**
 * Personal data with a salt, and its digest for the event's metadata: docs/spec/history-format.md, "Digest". Without a digest if it
 * has a withheld member, because no reader could check it.
 */
export function salted(personal: JsonObject): { personal: JsonObject; personalDigest?: string } {
  if (WITHHELD.some((name) => name in personal)) return { personal };
  const withSalt = { ...personal, [SALT]: randomBytes(SALT_BYTES).toString('base64') };
  return { personal: withSalt, personalDigest: hash('sha256', canonical(withSalt), 'hex') };
}

export function withoutSalt(personal: JsonObject | null): JsonObject | null {
  if (personal === null || !(SALT in personal)) return personal;
  const { [SALT]: _, ...rest } = personal;
  return rest;
}

type Encrypted = { key: Buffer; sealed: Buffer; text: string };

/**
 * The personal data of events. Keeps what this process encrypted last until a projection reads it, for a second at most.
 * That is usually the next statement: decrypting it there, with the key to unwrap, took 22 µs of an import's 310 per row.
 */
export class PersonalData {
  private readonly last = new JustWritten<Encrypted>();

  /** Encrypts an event's personal data, bound to the event's id so that it cannot be moved to another event. */
  encrypt(key: Buffer, personal: JsonObject, eventId: string): Buffer {
    const text = JSON.stringify(personal);
    const sealed = seal(key, Buffer.from(text, 'utf8'), eventId);
    this.last.put(eventId, { key, sealed, text }, 2 * text.length);
    return sealed;
  }

  /**
   * @param keyOf called unless this process has just encrypted exactly these bytes.
   * @returns also the key.
   * @throws if the key, the event's id or a single bit differs from the original.
   */
  decrypt(keyOf: () => Buffer, sealed: Buffer, eventId: string): { key: Buffer; personal: JsonObject } {
    const known = this.last.take(eventId);
    const isKnown = known?.sealed.equals(sealed) === true;
    const key = isKnown ? known.key : keyOf();
    const text = isKnown ? known.text : open(key, sealed, eventId).toString('utf8');
    return { key, personal: JSON.parse(text) as JsonObject };
  }
}

/**
 * Encrypts a person's value for storage in a projection, with a key derived from the person's own. The nonce is derived
 * from key and value (as in RFC 5297), so that the same events always result in the same tables. A comparison of two
 * tables reveals at most that a person's value has not changed.
 *
 * @param name the value's name, which is required to decrypt it.
 */
export function sealValue(key: Buffer, name: string, value: string): Buffer {
  const { encryption, nonces } = valueKeys(key);
  const nonce = createHmac('sha256', nonces).update(`${name}\0${value}`, 'utf8').digest().subarray(0, NONCE);
  return seal(encryption, Buffer.from(value, 'utf8'), name, nonce);
}

/** @throws if the key, the name or a single bit differs from the original. */
export function openValue(key: Buffer, name: string, sealed: Buffer): string {
  return open(valueKeys(key).encryption, sealed, name).toString('utf8');
}

type ValueKeys = { encryption: Key; nonces: Key };

/** Cached, because most people have several values. */
const derived = new WeakMap<Buffer, ValueKeys>();

/** A separate key for each use. */
function valueKeys(key: Buffer): ValueKeys {
  let keys = derived.get(key);
  if (!keys) {
    const bytes = createHmac('sha512', secret(key)).update('values in read models').digest();
    keys = { encryption: secret(bytes.subarray(0, KEY)), nonces: secret(bytes.subarray(KEY)) };
    derived.set(key, keys);
  }
  return keys;
}

/** The number of bytes that sealing adds. */
export const SEAL = NONCE + TAG;

/** AES-256-GCM: nonce ‖ tag ‖ ciphertext. */
export function seal(key: Key, plain: Buffer, boundTo: string, nonce = randomBytes(NONCE)): Buffer {
  const cipher = createCipheriv('aes-256-gcm', secret(key), nonce).setAAD(Buffer.from(boundTo));
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** @throws if the key, `boundTo` or a single bit differs from the original. */
export function open(key: Key, sealed: Buffer, boundTo: string): Buffer {
  const nonce = sealed.subarray(0, NONCE);
  const decipher = createDecipheriv('aes-256-gcm', secret(key), nonce, { authTagLength: TAG })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()]);
}

type Key = Buffer | KeyObject;

const ARE_BYTES_SLOW = process.versions.node.startsWith('24.');

/**
 * A person's key, which is used a few times. On Node.js 24, a cipher takes 13 µs with a key of bytes, and 3 µs with a
 * KeyObject including its creation. On 20, 22 and 26, bytes are 2 µs faster than a KeyObject, and need no extra garbage
 * collection.
 */
function secret(key: Key): Key {
  return ARE_BYTES_SLOW && Buffer.isBuffer(key) ? createSecretKey(key) : key;
}
