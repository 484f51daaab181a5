import { serveJobs } from '#libs/threads';
import { richTextHtml } from './rich-text-html.js';

/** What the thread of `rich-text.ts` runs. */
serveJobs({ html: richTextHtml });
