export { IMPORT_BACKLOG, ImportJobs, LARGEST_TABLE } from './import-jobs.js';
export { ImportJobsModule } from './import-jobs.module.js';
export { type ImportPlan } from './import-plan.js';
export { ImportProblems } from './import-problems.js';
export { ImportUndos } from './import-undos.js';
export { type ImportResult, type StoredImport } from './import-record.js';
export { CHARSETS, IMPORTED_TYPES, ImportedFile, StartImport } from './start-import.js';
