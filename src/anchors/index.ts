export { Anchors, type AnchorStore, type Checkpoint, NotWriteOnce } from './anchors.js';
export { type BucketLocation } from './bucket.js';
export { bucketLocationOf, openAnchorStore } from './stores.js';
