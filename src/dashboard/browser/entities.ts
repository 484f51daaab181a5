/** In the bundle for browsers, replaces the package `entities`, of which Markdown only needs this. */
export function decodeHTMLStrict(text: string): string {
  const area = document.createElement('textarea');
  area.innerHTML = text;
  return area.value;
}
