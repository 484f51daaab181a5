export { type Anchored, Anchors, type AnchorStore, type Checkpoint } from './anchors.js';
export { AnchorDirectory } from './directory.js';
