export { attempt, CLAIM_SECONDS, MOST_ATTEMPTS, pauseAfter } from './retries.js';
export { type RowLease, withRowLease } from './row-lease.js';
export { nextTurn } from './turns.js';
export { Worker } from './worker.js';
