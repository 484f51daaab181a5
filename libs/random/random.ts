import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

/** Bytes that the system is asked for at once: the question costs 2 µs, however many there are. */
const POOL = 4_096;

const pool = Buffer.allocUnsafeSlow(POOL);
let used = POOL;

/** Random bytes, fit for keys; at most `POOL`. */
export function randomBytes(length: number): Buffer {
  if (used + length > POOL) {
    randomFillSync(pool);
    used = 0;
  }
  const taken = pool.subarray(used, used + length);
  used += length;
  const bytes = Buffer.from(taken);
  // Nobody finds a key in what is left of the pool.
  taken.fill(0);
  return bytes;
}

/** Of the id before. */
const last = { msecs: -Infinity, seq: 0 };

/** A new UUIDv7 (RFC 9562): of one process each is above the one before. */
export function newId(): string {
  const random = randomBytes(16);
  const now = Date.now();
  if (now > last.msecs) {
    last.msecs = now;
    // Its highest bit free, so that a millisecond has room above.
    last.seq = random.readUInt32BE(6) & 0x7fffffff;
  } else {
    last.seq = (last.seq + 1) | 0;
    if (last.seq === 0) last.msecs += 1;
  }
  return uuidv7({ random, ...last });
}
