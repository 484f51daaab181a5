export { type Parts, partsOf, ProductModule, type StreamKind } from './product-module.js';
