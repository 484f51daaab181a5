export { Checkpoints, NotSealed, type Proof } from './checkpoints.js';
export { type SealedTree } from './note.js';
export { type Progress as SealingProgress, type RefusedOrganization, Sealer } from './sealer.js';
export { type SignedTree, Signers, type Succession } from './signers.js';
export { TILE_WIDTH } from './tiles.js';
