export { type SealedTree, Signer } from './note.js';
export { Sealer } from './sealer.js';
