import { escapeHtml } from '#libs/pages';

/** A text as it was typed, without what its marks mean. */
export function paragraphsOf(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`)
    .join('');
}
