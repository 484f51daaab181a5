import { escapeHtml } from '#libs/pages';

/** Shows a text as typed, without interpreting markup. */
export function paragraphsOf(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`)
    .join('');
}
