export { Cosigning } from './cosigning.js';
export { readWitness, type WitnessAddress, WitnessClient } from './witness-client.js';
