/** A request with the languages of its browser. */
export type Browser = { headers: { 'accept-language'?: string | undefined } };

/**
 * The browser's preferred language: the first one with the highest quality value (RFC 9110, 12.5.4), ignoring the region.
 *
 * @param among the available languages. The first is the default.
 */
export function languageOf({ headers }: Browser, among: readonly string[]): string {
  const ranges = (headers['accept-language'] ?? '').split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((one) => one.startsWith('q='))?.slice(2);
    return { language: range.split('-')[0]!, quality: quality === undefined ? 1 : Number(quality) };
  });
  const wanted = ranges
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality);
  return wanted.find(({ language }) => among.includes(language))?.language ?? among[0]!;
}
