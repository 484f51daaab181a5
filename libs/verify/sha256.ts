import { hash } from 'node:crypto';

export const HASH = 32;

/**
 * Writes the SHA-256 of a string (UTF-8) or bytes. Node.js returns it as a string three times as fast as in a
 * new buffer.
 */
export function sha256(data: string | Uint8Array, into: Uint8Array, at = 0): void {
  const bytes = hash('sha256', data, 'binary');
  for (let index = 0; index < HASH; index += 1) into[at + index] = bytes.charCodeAt(index);
}

/** Writes a safe integer in 8 bytes, big-endian. Four times as fast as a BigInt. */
export function writeInt64(number: number, into: Buffer, at: number): void {
  into.writeInt32BE(Math.floor(number / 2 ** 32), at);
  into.writeUInt32BE(number >>> 0, at + 4);
}
