export { nameOfSitePath } from './site.controller.js';
export { SiteModule } from './site.module.js';
