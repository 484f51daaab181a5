export { SegmentsModule } from './segments.module.js';
export { CreateSegment } from './create-segment.js';
export { segment } from './segment.js';
