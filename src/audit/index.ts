export { type Anchored, Anchors, type AnchorStore, NotWriteOnce } from './anchors/anchors.js';
export { type BucketLocation } from './anchors/bucket.js';
export { bucketLocationOf, openAnchorStore } from './anchors/stores.js';
export { compareByFile, compareBySubtrees, type Comparison } from './compare.js';
export { contradictionOf, headOf, leavesOf } from './consistency.js';
export { Cosigning } from './cosigning/cosigning.js';
export { readWitness, type WitnessAddress, WitnessClient } from './cosigning/witness-client.js';
export { NotAnswered } from './fetch-answer.js';
export { LogClient } from './monitor/log-client.js';
export { Monitor } from './monitor/monitor.js';
export { type AllVerdict } from './verify/all.js';
export {
  compareImageFiles,
  type ImageFilesVerdict,
  imageEventsOfDatabase,
  imageEventsOfFile,
} from './image-files.js';
export { chunksOf, successionsOfFile, verifyAll, verifyDatabase, verifyFile } from './verify/verify.js';
export { witnessServer } from './witness/server.js';
export { WitnessState } from './witness/state.js';
export { Witness, WitnessKey } from './witness/witness.js';
