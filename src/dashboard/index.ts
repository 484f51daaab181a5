export { DashboardModule } from './dashboard.module.js';
export { PAGE_SIZE } from './list-pages.js';
export { nameOfDashboardPath, PAGES } from './pages.js';
export { faultIn } from './faults.js';
