import { escapeHtml } from '#libs/pages';

/** A text as typed, without interpreting markup. */
export function paragraphsOf(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`)
    .join('');
}
