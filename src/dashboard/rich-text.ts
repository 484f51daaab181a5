import { type Html } from '#libs/pages';
import { richText } from '../site/index.js';

/** A text as the public page shows it; null where there is none. */
export async function richTextOf(content: unknown): Promise<Html | null> {
  return content === null || content === undefined
    ? null
    : richText.show(content as Parameters<typeof richText.show>[0]);
}
