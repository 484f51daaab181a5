import { type Html } from '#libs/pages';
import { loadRichText, type RichText } from '../site/index.js';

let loaded: Promise<RichText> | undefined;

/** A text as the public page shows it; null where there is none. */
export async function richTextOf(content: unknown): Promise<Html | null> {
  const shown = await (loaded ??= loadRichText());
  return content === null || content === undefined ? null : shown(content as Parameters<RichText>[0]);
}
