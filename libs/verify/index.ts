/**
 * The auditor's verification of a history, written from docs/spec/history-format.md. It depends on nothing of the
 * product and shares no code with the part that writes the history, so that a bug there is not repeated here.
 */
export { addEvent, type Batch, ENDINGS, isId, newBatch, UNREADABLE } from './batch.js';
export { type Checkpoint, leavesOf, openCheckpoint } from './checkpoint.js';
export { compareByEvents, compareBySubtrees, type Comparison, type ReadSubtree } from './compare.js';
export { claimsOf, contradictionOf, headOf, isConsistent, type TreeHead } from './consistency.js';
export { type Count, COUNTED, type CountVerdict, SignatureCount, verifyCount } from './count.js';
export { canonical, digestOf } from './digest.js';
export { eventsOfExport, wholeLines } from './export-file.js';
export {
  FalseSuccession,
  MOST_SUCCESSIONS,
  type Succession,
  SUCCESSION,
  SUCCESSIONS_OF,
  successionsOfExport,
} from './key-chain.js';
export { type CheckedLines, checkLines } from './lines.js';
export * from './note.js';
export { areSame, fromBase64, HASH, hashOf, toBase64, Unable, wholeNumber } from './platform.js';
export { REGISTER, RegisterEntries } from './register.js';
export { type Claim, claimHash, nodeHash, Tree } from './tree.js';
export { type Against, againstOf, type Verdict } from './verdict.js';
export { type SealedLeaf, type SealRows, type Seals, verifyEvents } from './verify-events.js';
export {
  type RegisterFiles,
  stepper,
  unproved,
  verifyExport,
  type VerifyOptions,
  withCheckpoint,
  witnessesOf,
} from './verify.js';
export { countStatement, inWords, signedBy, statement } from './words.js';
