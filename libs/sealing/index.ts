export { Checkpoints, NothingSealed, NotSealed } from './checkpoints.js';
export { ALL_ORGANIZATIONS, logIdOf, logNameOf, REGISTER } from './note.js';
export { writeProof } from './proofs.js';
export { type Progress as SealingProgress, Sealer } from './sealer.js';
export { type SignedTree, Signers, type Succession } from './signers.js';
export { TILE_WIDTH } from './tiles.js';
