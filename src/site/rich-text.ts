import { createHash } from 'node:crypto';
import { isObject, type Json } from '#libs/event-store';
import { type Html, trusted } from '#libs/pages';
import { BoundedThread, JobStopped } from '#libs/threads';
import { paragraphsOf } from './paragraphs.js';
import { type richTextHtml } from './rich-text-html.js';

/**
 * Characters of a text that is read without the thread, which takes a moment to start and some 20 MB. The worst that we know takes
 * 30 ms; the worst of 256 KiB takes half a second.
 */
const SHORT = 4_096;
/** To read a text in the thread. */
const LIMIT_MS = 1_000;
/** Pages are rendered again each second, and a text seldom changes: characters of what is remembered. */
const MOST_REMEMBERED = 4 * 1_024 * 1_024;

type RichTextJobs = { html: typeof richTextHtml };
export type RichTextThread = BoundedThread<RichTextJobs>;

/** Shows what users wrote as HTML. */
export class RichText {
  private readonly remembered = new Map<string, Promise<string | null>>();
  private size = 0;

  constructor(
    private readonly thread: RichTextThread = new BoundedThread<RichTextJobs>(
      new URL('./rich-text-thread.js', import.meta.url),
      { html: LIMIT_MS },
    ),
  ) {}

  /** Null if the content is no text. A text that takes too long is shown as it was typed. */
  async show(content: Json): Promise<Html | null> {
    const text = textOf(content);
    const html = await (text === undefined ? this.here(content) : this.remember(text, content));
    return html === null ? null : trusted(html);
  }

  private remember(text: string, content: Json): Promise<string | null> {
    const key = createHash('sha256').update(text).digest('base64');
    const known = this.remembered.get(key);
    if (known) return known;
    const html = text.length > SHORT ? this.inThread(content) : this.here(content);
    this.size += text.length;
    if (this.size > MOST_REMEMBERED) {
      this.remembered.clear();
      this.size = text.length;
    }
    this.remembered.set(key, html);
    html.catch(() => this.remembered.delete(key));
    return html;
  }

  /** Its packages take a tenth of a start. Only instances with pages load them. */
  private async here(content: Json): Promise<string | null> {
    const { richTextHtml } = await import('./rich-text-html.js');
    return richTextHtml(content);
  }

  private async inThread(content: Json): Promise<string | null> {
    try {
      return await this.thread.run('html', content);
    } catch (error) {
      if (!(error instanceof JobStopped)) throw error;
      const text = isObject(content) ? content.markdown : content;
      return typeof text === 'string' ? paragraphsOf(text) : null;
    }
  }
}

/** Undefined if it is too deep to be written. The top of it can be shown all the same. */
function textOf(content: Json): string | undefined {
  try {
    return JSON.stringify(content);
  } catch {
    return undefined;
  }
}

/** One thread for all of the process. */
export const richText = new RichText();
