export { SegmentsModule } from './segments.module.js';
export { segment } from './segment.js';
