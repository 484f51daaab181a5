export { allEventTypes, declareEventTypes } from './event-types.js';
export { type BackgroundWork, modulesAmong, partsOf, ProductModule } from './product-module.js';
