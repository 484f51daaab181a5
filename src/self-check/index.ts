export { SelfCheck } from './self-check.js';
