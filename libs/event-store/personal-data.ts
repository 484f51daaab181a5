import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { type JsonObject } from './event.js';

/** Bytes of a key, of a GCM nonce and of a GCM tag (NIST SP 800-38D). */
const KEY = 32;
const NONCE = 12;
const TAG = 16;

/**
 * The master key: wraps the key of each data subject, and gives the keyed hashes under which unique keys
 * and idempotency keys are stored, so that they reveal nothing about an e-mail address.
 */
export class Keyring {
  private readonly wrappingKey: Buffer;
  private readonly hashingKey: Buffer;

  /** @param master 32 bytes; the two keys used are derived from it (HKDF, RFC 5869), never itself. */
  constructor(master: Buffer) {
    if (master.length !== KEY) throw new Error(`The master key must have ${KEY} bytes.`);
    this.wrappingKey = derive(master, 'subject keys');
    this.hashingKey = derive(master, 'unique keys');
  }

  /** A fresh key for a subject, and the form in which it may be stored. */
  newSubjectKey(subjectId: string): { key: Buffer; wrapped: Buffer } {
    const key = randomBytes(KEY);
    return { key, wrapped: seal(this.wrappingKey, key, subjectId) };
  }

  unwrap(wrapped: Buffer, subjectId: string): Buffer {
    return open(this.wrappingKey, wrapped, subjectId);
  }

  /** HMAC-SHA-256 over the parts, told apart by their lengths. */
  hash(...parts: string[]): Buffer {
    const hmac = createHmac('sha256', this.hashingKey);
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:`).update(part, 'utf8');
    return hmac.digest();
  }
}

/** Encrypts an event's personal data; bound to the event's id, so that it opens nowhere else. */
export function encryptPersonal(key: Buffer, personal: JsonObject, eventId: string): Buffer {
  return seal(key, Buffer.from(JSON.stringify(personal), 'utf8'), eventId);
}

/** @throws when the key, the event's id or a single bit is not the original's. */
export function decryptPersonal(key: Buffer, personal: Buffer, eventId: string): JsonObject {
  return JSON.parse(open(key, personal, eventId).toString('utf8')) as JsonObject;
}

function derive(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', purpose, KEY));
}

/** AES-256-GCM: nonce ‖ tag ‖ ciphertext. */
function seal(key: Buffer, plain: Buffer, boundTo: string): Buffer {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(boundTo));
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

function open(key: Buffer, sealed: Buffer, boundTo: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE), { authTagLength: TAG })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()]);
}
