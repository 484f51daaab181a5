export { Worker } from './worker.js';
