import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

/** Random bytes to request from the system at a time. A request costs 2 µs, whatever its size. */
const POOL = 4_096;

const pool = Buffer.allocUnsafeSlow(POOL);
let used = POOL;

/** Random bytes that are suitable for keys; at most `POOL`. */
export function randomBytes(length: number): Buffer {
  if (used + length > POOL) {
    randomFillSync(pool);
    used = 0;
  }
  const taken = pool.subarray(used, used + length);
  used += length;
  const bytes = Buffer.from(taken);
  // The pool must not keep a copy of a key.
  taken.fill(0);
  return bytes;
}

/** Time and sequence number of the previous id. */
const last = { msecs: -Infinity, seq: 0 };

/** Returns a new UUIDv7 (RFC 9562), which is above all previous ones of this process. */
export function newId(): string {
  const random = randomBytes(16);
  const now = Date.now();
  if (now > last.msecs) {
    last.msecs = now;
    // The highest bit stays 0, so that a millisecond has room for further ids.
    last.seq = random.readUInt32BE(6) & 0x7fffffff;
  } else {
    last.seq = (last.seq + 1) | 0;
    if (last.seq === 0) last.msecs += 1;
  }
  return uuidv7({ random, ...last });
}
