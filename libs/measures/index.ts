export { Distribution, SECONDS } from './distribution.js';
export { Tally } from './tally.js';
