import { serveJobs } from '#libs/threads';
import { richTextHtml } from './rich-text-html.js';

/** Runs in the thread that `rich-text.ts` starts. */
serveJobs({ html: richTextHtml });
