export { allEventTypes, declareEventTypes } from './event-types.js';
export { type BackgroundWork, partsOf, ProductModule } from './product-module.js';
