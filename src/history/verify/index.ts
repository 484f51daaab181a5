export { type AllVerdict } from './all.js';
export { ENDINGS, isId } from './batch.js';
export { type Checkpoint, leavesOf, openCheckpoint } from './checkpoint.js';
export { compareBySubtrees, type Comparison } from './compare.js';
export { headOf, isConsistent, type TreeHead } from './consistency.js';
export { createFile, replaceFile } from './durable-file.js';
export { fetchAnswer, type HttpAnswer, NotAnswered } from './fetch-answer.js';
export { LogClient } from './log-client.js';
export { Monitor } from './monitor.js';
export {
  ALGORITHMS,
  ALL,
  cosignedBy,
  cosignedText,
  fromBase64,
  isKeyOf,
  isSignedBy,
  keyIdOf,
  keyName,
  type Note,
  NotAuthentic,
  parseVerifierKey,
  readNote,
  type VerifierKey,
  wholeNumber,
} from './note.js';
export { type Succession } from './key-chain.js';
export { type Against, type Verdict } from './verdict.js';
export {
  compareByFile,
  successionsOfFile,
  verifyAll,
  verifyDatabase,
  verifyExport,
  verifyFile,
} from './verify.js';
