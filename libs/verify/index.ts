/**
 * The auditor's verification of a history, written from docs/spec/history-format.md. It depends on nothing of the product and
 * shares no code with the part that writes the history, so that a bug there is not repeated here.
 */
export * from './checkpoint.js';
export { countStatement, type CountVerdict, COUNTED, SignatureCount, verifyCount } from './count.js';
export { eventStatement, type EventVerdict, verifyEvent } from './event-proof.js';
export * from './export.js';
export * from './note.js';
export { areSame, fromBase64, HASH, hashOf, timeOf, toBase64, Unable, wholeNumber } from './platform.js';
export { REGISTER, RegisterEntries } from './register.js';
export { type Claim, claimHash, leafHash, nodeHash, Tree } from './tree.js';
export * from './verdict.js';
export { ENDINGS, insertedAt, missingOf, verifyEvents } from './verify-events.js';
export * from './verify.js';
