export { isTerminal, readableLine } from './readable-line.js';
