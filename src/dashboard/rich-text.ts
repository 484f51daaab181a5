import { type Html } from '#libs/pages';
import { richText } from '../site/index.js';

/** Renders a text like the public page; null if there is none. */
export async function richTextOf(content: unknown): Promise<Html | null> {
  return content === null || content === undefined
    ? null
    : richText.show(content as Parameters<typeof richText.show>[0]);
}
