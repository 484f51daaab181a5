/** More than any newsletter has. */
const MAX_LINKS = 500;
/** Not followed by a merge field, with which the address would be personal. */
const ADDRESS = /https?:\/\/[^\s"'<>()[\]{}\\`|]+(?![^\s"'<>()[\]{}\\`|]|\{)/gi;

/**
 * The addresses in a message whose clicks are counted, in their order: those that are written out, and so the same for every recipient.
 * Personal links stay as they are.
 *
 * @param content Markdown or HTML with merge fields.
 */
export function countedLinks(content: string): string[] {
  const found = [...content.matchAll(ADDRESS)].flatMap(([address]) => normalized(address) ?? []);
  return [...new Set(found)].slice(0, MAX_LINKS);
}

/** @param html the message of one recipient. @param links see `countedLinks`. @param base to which the number of the link is added */
export function withCounts(html: string, links: readonly string[], base: string): string {
  return html.replaceAll(/ href="([^"]*)"/g, (whole, address: string) => {
    const n = links.indexOf(normalized(address) ?? '');
    return n < 0 ? whole : ` href="${base}/${n + 1}"`;
  });
}

/** As browsers write it. Undefined if it is none. */
function normalized(address: string): string | undefined {
  // Markdown does not link the punctuation after an address.
  const text = address.replaceAll('&amp;', '&').replace(/[.,;:!?*_~]+$/, '');
  if (!URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? href : undefined;
}
