export { newId, randomBytes } from './random.js';
