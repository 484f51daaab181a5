export { DashboardModule } from './dashboard.module.js';
export { nameOfDashboardPath, PAGES } from './pages.js';
export { faultIn } from './faults.js';
