export { ListsModule } from './lists.module.js';
export { listsProjection } from './lists.projection.js';
