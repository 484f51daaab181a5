export { examine, type Examined } from './examine.js';
export { counted } from './finding.js';
