export { DashboardModule } from './dashboard.module.js';
export { nameOfDashboardPath, PAGES } from './pages.js';
export { WORDS, type Words } from './words/index.js';
