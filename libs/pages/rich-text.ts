import { createHash } from 'node:crypto';
import { BoundedThread, JobStopped } from '#libs/threads';
import { type Html, paragraphsOf, trusted } from './html.js';
import { type richTextHtml } from './rich-text-html.js';

/**
 * Longest text that is rendered without the thread, which needs time to start and about 20 MB. The worst known text of this length
 * takes 30 ms. The worst of 256 KiB takes half a second.
 */
const SHORT = 4_096;
/** Time limit for a text in the thread. */
const LIMIT_MS = 1_000;
/** Size of the cache in characters. Pages are rendered every second, and texts rarely change. */
const MAX_CACHED = 4 * 1_024 * 1_024;

type RichTextJobs = { html: typeof richTextHtml };
export type RichTextThread = BoundedThread<RichTextJobs>;

/** Renders users' texts as HTML. */
export class RichText {
  private readonly cached = new Map<string, Promise<string | null>>();
  private size = 0;

  constructor(
    private readonly thread: RichTextThread = new BoundedThread<RichTextJobs>(
      new URL('./rich-text-thread.js', import.meta.url),
      { html: LIMIT_MS },
    ),
  ) {}

  /** Renders content; null if there is none or if it is not a text. A text that takes too long is shown as typed. */
  async show(content: unknown): Promise<Html | null> {
    if (content === null || content === undefined) return null;
    const text = textOf(content);
    const html = await (text === undefined ? this.here(content) : this.fromCache(text, content));
    return html === null ? null : trusted(html);
  }

  private fromCache(text: string, content: unknown): Promise<string | null> {
    const key = createHash('sha256').update(text).digest('base64');
    const known = this.cached.get(key);
    if (known) return known;
    const html = text.length > SHORT ? this.inThread(content) : this.here(content);
    this.size += text.length;
    if (this.size > MAX_CACHED) {
      this.cached.clear();
      this.size = text.length;
    }
    this.cached.set(key, html);
    html.catch(() => this.cached.delete(key));
    return html;
  }

  /** Loads the renderer on demand, because its packages take a tenth of the start-up time. */
  private async here(content: unknown): Promise<string | null> {
    const { richTextHtml } = await import('./rich-text-html.js');
    return richTextHtml(content);
  }

  private async inThread(content: unknown): Promise<string | null> {
    try {
      return await this.thread.run('html', content);
    } catch (error) {
      if (!(error instanceof JobStopped)) throw error;
      const text = typeof content === 'object' ? (content as { markdown?: unknown }).markdown : content;
      return typeof text === 'string' ? paragraphsOf(text) : null;
    }
  }
}

/** Serializes content. Undefined if it is nested too deeply, although its upper levels can still be shown. */
function textOf(content: unknown): string | undefined {
  try {
    return JSON.stringify(content);
  } catch {
    return undefined;
  }
}

/** One thread per process. */
export const richText = new RichText();
