import { hash } from 'node:crypto';

export const HASH = 32;

/** Writes the SHA-256 of texts (UTF-8) or bytes. Node gives it three times as fast as text than as a buffer of its own. */
export function sha256(data: string | Uint8Array, into: Uint8Array, at = 0): void {
  const bytes = hash('sha256', data, 'binary');
  for (let index = 0; index < HASH; index += 1) into[at + index] = bytes.charCodeAt(index);
}

/** A safe integer in 8 bytes, big-endian: four times as fast as by a BigInt. */
export function writeInt64(number: number, into: Buffer, at: number): void {
  into.writeInt32BE(Math.floor(number / 2 ** 32), at);
  into.writeUInt32BE(number >>> 0, at + 4);
}
