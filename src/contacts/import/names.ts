/**
 * Characters without a width, such as the zero-width space and the byte order mark. Pasted into an address, they
 * make it undeliverable; in names, they make two identical-looking ones differ.
 */
const FORMAT_CHARACTERS = /\p{Cf}/gu;
/** Joiners change how letters of these scripts look. */
const JOINED =
  /(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{M}])[\u200c\u200d](?=\p{L})/gu;

/** The text without invisible characters, except joiners between letters that need them. */
export function withoutFormatCharacters(text: string): string {
  if (!FORMAT_CHARACTERS.test(text)) return text;
  FORMAT_CHARACTERS.lastIndex = 0;
  const kept = new Set([...text.matchAll(JOINED)].map(({ index }) => index));
  return text.replace(FORMAT_CHARACTERS, (character, index: number) => (kept.has(index) ? character : ''));
}

/** Words that belong to the last name that follows them. */
const PARTICLES =
  /^(van|von|vom|zu|zum|zur|de|del|della|der|den|di|da|das|do|dos|du|des|la|le|las|los|el|al|bin|ibn|ten|ter|y|e|d’|d')$/i;

/**
 * Splits a whole name. With a comma, the last name is first: `Lovelace, Ada`. Otherwise it is the last word,
 * with the particles before it: `Ludwig van Beethoven`.
 */
export function splitName(name: string): { firstName?: string; lastName?: string } {
  const [last = '', first] = name.split(',', 2).map((part) => part.trim());
  if (first) return last === '' ? { firstName: first } : { firstName: first, lastName: last };
  const words = last.split(/\s+/).filter((word) => word !== '');
  if (words.length < 2) return words[0] === undefined ? {} : { firstName: words[0] };
  let start = words.length - 1;
  while (start > 1 && PARTICLES.test(words[start - 1]!)) start -= 1;
  return { firstName: words.slice(0, start).join(' '), lastName: words.slice(start).join(' ') };
}
