export { type ProjectionStatus } from './projection-runner.js';
export { schemaOf, type Projection } from './projection.js';
export { Projections } from './projections.js';
