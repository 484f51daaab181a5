/** A piece of HTML: what it was made of is escaped already. */
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

/** Text in HTML, also in an attribute between quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/**
 * HTML of a template, in which each value is escaped that is not HTML itself: html`<p>${name}</p>`. Null is nothing; of a list the
 * elements follow each other. An attribute's value stands between quotes.
 */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(parts.map((part, n) => part + (n < values.length ? written(values[n]) : '')).join(''));
}

/** What is HTML and was not made by `html`: sanitized before, or a constant of the program. */
export function trusted(text: string): Html {
  return new Html(text);
}

function written(value: Value): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return (value as readonly Value[]).map(written).join('');
  return escapeHtml(String(value));
}
