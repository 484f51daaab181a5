export type Browser = { headers: { 'accept-language'?: string | undefined } };

/** Longer headers come from no browser. */
const LONGEST_HEADER = 1_000;

/**
 * The available language that a browser prefers: the first one with the highest quality value (RFC 9110, 12.5.4).
 *
 * @param among the available languages (BCP 47). @param preset if the browser wants none of them. Default: the first.
 */
export function languageOf({ headers }: Browser, among: readonly string[], preset = among[0]!): string {
  const header = (headers['accept-language'] ?? '').slice(0, LONGEST_HEADER);
  const ranges = header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((one) => one.startsWith('q='))?.slice(2);
    return { range, quality: quality === undefined ? 1 : Number(quality) };
  });
  const rejected = ranges.filter(({ quality }) => quality === 0).map(({ range }) => range);
  const left = among.filter((language) => !rejected.includes(language.toLowerCase()));
  const wanted = ranges
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality);
  const otherwise = left.includes(preset) ? preset : (left[0] ?? preset);
  for (const { range } of wanted) {
    const found = range === '*' ? otherwise : languageAmong(left, range);
    if (found !== undefined) return found;
  }
  return otherwise;
}

/**
 * The language that a range means (RFC 4647, 3.4): `de-AT` means `de-AT`, otherwise `de`, otherwise the first one with another
 * region. Undefined if there is none.
 */
export function languageAmong(among: readonly string[], range: string): string | undefined {
  const wanted = range.toLowerCase();
  for (let part = wanted; part !== ''; part = part.replace(/-?[^-]*$/, '')) {
    const found = among.find((language) => language.toLowerCase() === part);
    if (found !== undefined) return found;
  }
  return among.find((language) => isSameLanguage(language, wanted));
}

/** Whether two tags differ only in script, region or variant. */
export function isSameLanguage(one: string, other: string): boolean {
  const [first, second] = [one, other].map((tag) => tag.toLowerCase().split('-')[0]);
  return first === second;
}
