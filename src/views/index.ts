export { CreateView } from './create-view.js';
export { type ViewFields, view } from './view.js';
export { storedParameters } from './view-fields.js';
export { ViewsModule } from './views.module.js';
