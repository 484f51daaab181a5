export { Checkpoints, NotSealed } from './checkpoints.js';
export { ALL_ORGANIZATIONS, logIdOf, logNameOf, type SealedTree } from './note.js';
export { type Proof, writeProof } from './proofs.js';
export { type Progress as SealingProgress, type RefusedOrganization, Sealer } from './sealer.js';
export { type SignedTree, Signers, type Succession } from './signers.js';
export { TILE_WIDTH } from './tiles.js';
