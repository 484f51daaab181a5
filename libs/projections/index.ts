export { type ProjectionStatus } from './projection-runner.js';
export {
  type Erasure,
  hasGoneOn,
  schemaOf,
  type Projection,
  type Snapshots,
  wholeVersion,
} from './projection.js';
export { type Column, type RecordRow, RecordTable } from './record-table.js';
export { Projections, type ProjectionsOptions } from './projections.js';
export { type Purged } from './maintenance.js';
export { canServeTogether, describeRelease, liveReleases } from './releases.js';
export {
  compare,
  type Condition,
  findRows,
  type ListedTable,
  LARGEST_PAGE_BYTES,
  type Listing,
  type RowPage,
  search,
  SEARCH_RULE,
  searchElsewhere,
} from './row-page.js';
export { type BuildOptions, type RowDifference, UnderWay } from './rebuild.js';
export {
  type AtErasure,
  type CountedLinks,
  folding,
  type LinkChange,
  replay,
  type Replayable,
  replayable,
} from './replay.js';
