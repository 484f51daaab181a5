export {
  type BackgroundWork,
  type Parts,
  partsOf,
  ProductModule,
  type StreamKind,
} from './product-module.js';
