import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { type Keyring } from '#libs/event-store';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const PUBLIC_ID_LENGTH = 8;
/** 40 of 62 characters: 238 bits, beyond any guessing, which is why a fast hash is enough. */
const SECRET_LENGTH = 40;
/** Of 62^6 invented keys one passes: 5.7 × 10^10. */
const CHECKSUM_LENGTH = 6;
/** Keys of versions before this one end after the secret; they work for ever. */
const KEY = /^adv_([A-Za-z0-9]{8})_([A-Za-z0-9]{40})([A-Za-z0-9]{6})?$/;

/** A key as a request shows it. */
export type ShownKey = {
  publicId: string;
  /** SHA-256 of all that follows the public id: what is kept of it. */
  secretHash: Buffer;
  /** What says that it was made here; undefined for a key of a version before, of which nothing says so. */
  isMadeHere: (() => boolean) | undefined;
};

/**
 * A new key as its owner gets it, once, and the parts of it that are kept. Its last characters are a checksum that
 * only the keyring's owner can compute, so that invented keys are told without asking the database.
 */
export function makeKey(keyring: Keyring): { key: string; publicId: string; secretHash: string } {
  const publicId = randomText(PUBLIC_ID_LENGTH);
  const random = randomText(SECRET_LENGTH);
  const secret = random + checksumOf(keyring, publicId, random);
  return { key: `adv_${publicId}_${secret}`, publicId, secretHash: sha256(secret).toString('hex') };
}

/** The parts of a key; undefined if it has not a key's form. */
export function readKey(keyring: Keyring, key: string): ShownKey | undefined {
  const [, publicId, random, checksum] = KEY.exec(key) ?? [];
  if (!publicId || !random) return undefined;
  return {
    publicId,
    secretHash: sha256(random + (checksum ?? '')),
    isMadeHere:
      checksum === undefined
        ? undefined
        : () => isSameHash(Buffer.from(checksum), Buffer.from(checksumOf(keyring, publicId, random))),
  };
}

/** Compares in constant time. */
export function isSameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function checksumOf(keyring: Keyring, publicId: string, random: string): string {
  // 48 bits are 5,000 times as many as there are checksums: none is noticeably likelier.
  let rest = keyring.hash('api-key.checksum', publicId, random).readUIntBE(0, 6);
  return Array.from({ length: CHECKSUM_LENGTH }, () => {
    const character = ALPHABET[rest % ALPHABET.length];
    rest = Math.floor(rest / ALPHABET.length);
    return character;
  }).join('');
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
