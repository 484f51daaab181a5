import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { randomBytes } from '#libs/random';
import { type JsonObject } from './event.js';

/** Bytes of a key, of a GCM nonce and of a GCM tag (NIST SP 800-38D). */
export const KEY = 32;
const NONCE = 12;
const TAG = 16;

/** Encrypts an event's personal data; bound to the event's id, so that it opens nowhere else. */
export function encryptPersonal(key: Buffer, personal: JsonObject, eventId: string): Buffer {
  return seal(key, Buffer.from(JSON.stringify(personal), 'utf8'), eventId);
}

/** @throws when the key, the event's id or a single bit is not the original's. */
export function decryptPersonal(key: Buffer, personal: Buffer, eventId: string): JsonObject {
  return JSON.parse(open(key, personal, eventId).toString('utf8')) as JsonObject;
}

/**
 * Encrypts a value that a read model holds of a person, with a key that follows from the person's own. The nonce
 * follows from key and value (as in RFC 5297), so that the same events always make the same tables: who compares
 * two of them sees at most that a person's value has not changed.
 *
 * @param name the value's: it opens under no other.
 */
export function sealValue(key: Buffer, name: string, value: string): Buffer {
  const { encryption, nonces } = valueKeys(key);
  const nonce = createHmac('sha256', nonces).update(`${name}\0${value}`, 'utf8').digest().subarray(0, NONCE);
  return seal(encryption, Buffer.from(value, 'utf8'), name, nonce);
}

/** @throws when the key, the name or a single bit is not the original's. */
export function openValue(key: Buffer, name: string, sealed: Buffer): string {
  return open(valueKeys(key).encryption, sealed, name).toString('utf8');
}

type ValueKeys = { encryption: Key; nonces: Key };

/** Of the persons whose keys are at hand now: most have several values. */
const derived = new WeakMap<Buffer, ValueKeys>();

/** One key for one use. */
function valueKeys(key: Buffer): ValueKeys {
  let keys = derived.get(key);
  if (!keys) {
    const bytes = createHmac('sha512', secret(key)).update('values in read models').digest();
    keys = { encryption: secret(bytes.subarray(0, KEY)), nonces: secret(bytes.subarray(KEY)) };
    derived.set(key, keys);
  }
  return keys;
}

/** Bytes that sealing adds. */
export const SEAL = NONCE + TAG;

/** AES-256-GCM: nonce ‖ tag ‖ ciphertext. */
export function seal(key: Key, plain: Buffer, boundTo: string, nonce = randomBytes(NONCE)): Buffer {
  const cipher = createCipheriv('aes-256-gcm', secret(key), nonce).setAAD(Buffer.from(boundTo));
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** @throws when the key, what it is bound to or a single bit is not the original's. */
export function open(key: Key, sealed: Buffer, boundTo: string): Buffer {
  const nonce = sealed.subarray(0, NONCE);
  const decipher = createDecipheriv('aes-256-gcm', secret(key), nonce, { authTagLength: TAG })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()]);
}

type Key = Buffer | KeyObject;

const TAKES_BYTES_SLOWLY = process.versions.node.startsWith('24.');

/**
 * A person's key, which is used a few times. What takes bytes for a key takes 13 µs on Node 24, a KeyObject and its making 3; on 20, 22
 * and 26 bytes take 2 µs less than a KeyObject, which has to be collected too.
 */
function secret(key: Key): Key {
  return TAKES_BYTES_SLOWLY && Buffer.isBuffer(key) ? createSecretKey(key) : key;
}
