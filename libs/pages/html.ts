/** A piece of HTML whose values are already escaped. */
export class Html {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

type Value = Html | string | number | null | undefined | readonly Value[];

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, including quoted attributes. */
export function escapeHtml(text: string): string {
  // Most texts contain none of these, and a table has hundreds of cells.
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => ENTITIES[character]!) : text;
}

/**
 * HTML from a template: html`<p>${name}</p>`. Escapes each value that is not HTML itself. Null results in nothing, and the
 * elements of a list are concatenated. Put values of attributes between quotes.
 */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  let text = parts[0]!;
  for (let n = 0; n < values.length; n += 1) text += written(values[n]) + parts[n + 1]!;
  return new Html(text);
}

/** Shows a text as typed, without interpreting markup. */
export function paragraphsOf(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`)
    .join('');
}

/** Marks a text as HTML. Only for sanitized text and constants of the program. */
export function trusted(text: string): Html {
  return new Html(text);
}

function written(value: Value): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Html) return value.toString();
  if (!Array.isArray(value)) return escapeHtml(String(value));
  let text = '';
  for (const one of value as readonly Value[]) text += written(one);
  return text;
}
