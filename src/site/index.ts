export { nameOfSitePath } from './site.controller.js';
export { CAPTCHA } from './proof-of-work.js';
export { QuickPages } from './quick-pages.js';
export { SiteModule } from './site.module.js';
export { richText } from './rich-text.js';
export { readForm } from './read-form.js';
export { styleOf } from './style.js';
export { formToken } from './form-token.js';
