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
export { canServeTogether, describeRelease, liveReleases } from './releases.js';
export {
  type Bind,
  compare,
  type Comparison,
  type Condition,
  countRows,
  findRows,
  type ListedTable,
  type Listing,
  type RowPage,
  search,
  SEARCH_RULE,
  searchElsewhere,
} from './row-page.js';
export { type BuildOptions, UnderWay } from './rebuild.js';
export {
  type AtErasure,
  folding,
  type LinkChange,
  type PrintedLinks,
  replay,
  type Replayable,
  replayable,
  type StreamBeside,
} from './replay.js';
