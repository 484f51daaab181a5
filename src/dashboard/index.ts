export { IMPORT_BACKLOG } from './contacts/imports.js';
export { DashboardModule } from './dashboard.module.js';
export { nameOfDashboardPath, PAGES } from './pages.js';
export { WORDS, type Words } from './words/index.js';
