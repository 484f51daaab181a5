import { createHash, randomInt, timingSafeEqual } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const PUBLIC_ID_LENGTH = 8;
/** 40 of 62 characters: 238 bits, beyond any guessing, which is why a fast hash is enough. */
const SECRET_LENGTH = 40;
const KEY = /^adv_([A-Za-z0-9]{8})_([A-Za-z0-9]{32,128})$/;

/** A new key as its owner gets it, once, and the parts of it that are kept. */
export function makeKey(): { key: string; publicId: string; secretHash: string } {
  const publicId = randomText(PUBLIC_ID_LENGTH);
  const secret = randomText(SECRET_LENGTH);
  return { key: `adv_${publicId}_${secret}`, publicId, secretHash: sha256(secret).toString('hex') };
}

/** The parts of a key; undefined if it has not a key's form. */
export function readKey(key: string): { publicId: string; secretHash: Buffer } | undefined {
  const [, publicId, secret] = KEY.exec(key) ?? [];
  return publicId && secret ? { publicId, secretHash: sha256(secret) } : undefined;
}

/** Compares in constant time. */
export function isSameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
