export { witnessServer } from './server.js';
export { WitnessState } from './state.js';
export { Witness, WitnessKey } from './witness.js';
