export { commandLine } from './program.js';
