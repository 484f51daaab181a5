import { serveJobs } from '#libs/threads';
import { richTextHtml } from './rich-text-html.js';

/** Code of the thread in `rich-text.ts`. */
serveJobs({ html: richTextHtml });
