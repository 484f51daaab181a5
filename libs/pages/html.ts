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
  // Most texts have none: a table has hundreds of cells.
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => ENTITIES[character]!) : text;
}

/**
 * HTML of a template, in which each value is escaped that is not HTML itself: html`<p>${name}</p>`. Null is nothing; of a list the
 * elements follow each other. An attribute's value stands between quotes.
 */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  let text = parts[0]!;
  for (let n = 0; n < values.length; n += 1) text += written(values[n]) + parts[n + 1]!;
  return new Html(text);
}

/** What is HTML and was not made by `html`: sanitized before, or a constant of the program. */
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
