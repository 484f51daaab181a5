export { type ContactImport, IMPORT_BACKLOG, ImportJobs, LARGEST_TABLE, MOST_FAILED } from './import-jobs.js';
export { ImportJobsModule } from './import-jobs.module.js';
export { type ImportPlan } from './import-plan.js';
