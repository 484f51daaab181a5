import { serveJobs } from '#libs/threads';
import { templateJobs } from './template-jobs.js';

/** The entry point of the thread of `Templates`. */
serveJobs(templateJobs());
