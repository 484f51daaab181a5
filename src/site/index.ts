export { pageOf } from './document.js';
export { nameOfSitePath } from './site.controller.js';
export { CAPTCHA } from './proof-of-work.js';
export { QuickPages } from './quick-pages.js';
export { SiteModule } from './site.module.js';
export { formToken } from './form-token.js';
