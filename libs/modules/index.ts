export { allEventTypes, declareEventTypes, type EventType } from './event-types.js';
export {
  type BackgroundWork,
  type Parts,
  partsOf,
  ProductModule,
  type StreamKind,
} from './product-module.js';
