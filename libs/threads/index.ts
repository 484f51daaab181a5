export { BoundedThread, JobStopped } from './bounded-thread.js';
export { serveJobs } from './serve-jobs.js';
