import { serveJobs } from '#libs/threads';
import { templateJobs } from './template-jobs.js';

/** What the thread of `Templates` runs. */
serveJobs(templateJobs());
