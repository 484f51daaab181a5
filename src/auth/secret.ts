import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { type Keyring } from '#libs/event-store';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const PUBLIC_ID_LENGTH = 8;
/** 40 of 62 characters: 238 bits, which no one can guess, so a fast hash is enough. */
const SECRET_LENGTH = 40;
/** One of 62^6 = 5.7 × 10^10 invented keys passes the checksum. */
const CHECKSUM_LENGTH = 6;
/** Keys of earlier versions end after the secret. They stay valid. */
const KEY = /^adv_([A-Za-z0-9]{8})_([A-Za-z0-9]{40})([A-Za-z0-9]{6})?$/;

/** The parts of a key as sent with a request. */
export type ShownKey = {
  publicId: string;
  /** SHA-256 of everything after the public id. Only this is stored. */
  secretHash: Buffer;
  /** Checks that the key was created here; undefined for keys from before checksums. */
  isMadeHere: (() => boolean) | undefined;
};

/**
 * Creates a key. Returns the value its owner receives, once, and the parts that are stored. Its last
 * characters are a checksum that only the owner of the keyring can compute, so invented keys are detected
 * without a query.
 */
export function makeKey(keyring: Keyring): { key: string; publicId: string; secretHash: string } {
  const publicId = randomText(PUBLIC_ID_LENGTH);
  const random = randomText(SECRET_LENGTH);
  const secret = random + checksumOf(keyring, publicId, random);
  return { key: `adv_${publicId}_${secret}`, publicId, secretHash: sha256(secret).toString('hex') };
}

/** The parts of a key; undefined if it is malformed. */
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
  // 48 bits have 5,000 times as many values as there are checksums, so none is noticeably more likely.
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
