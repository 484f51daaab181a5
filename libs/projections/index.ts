export { countAt, LINK_BYTES, type LinkChange, linkedTo, type LinkRow, LinkTable } from './link-table.js';
export { type ProjectionStatus } from './projection-runner.js';
export { schemaOf, type Projection, type Snapshots } from './projection.js';
export { type RecordRow, RecordTable } from './record-table.js';
export { Projections } from './projections.js';
export { type BuildOptions, type RowDifference } from './rebuild.js';
export { type CountedLinks, replay, type Replayable, replayable } from './replay.js';
