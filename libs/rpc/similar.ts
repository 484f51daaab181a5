/** Longer names are compared up to this length. */
const LONGEST = 100;
/** Of the words of both names, the part that must agree. */
const ENOUGH = 0.75;

/**
 * The candidate that a name was probably meant to be: `contact.create` is `contact.create-contact`, `fristName` is `firstName`.
 * The order of words does not matter, and one letter of each may be wrong.
 */
export function mostSimilar(name: string, candidates: Iterable<string>): string | undefined {
  const words = wordsOf(name.slice(0, LONGEST));
  let best: { candidate: string; likeness: number } | undefined;
  for (const candidate of candidates) {
    const others = wordsOf(candidate);
    const common = words.filter((word) => others.some((other) => isNearly(word, other))).length;
    const likeness = (2 * common) / (words.length + others.length);
    if (likeness >= ENOUGH && likeness > (best?.likeness ?? 0)) best = { candidate, likeness };
  }
  return best?.candidate;
}

/** The different words of a name in camelCase or with any characters between them, in lower case. */
function wordsOf(name: string): string[] {
  const words = name.split(/[^a-zA-Z]+|(?<=[a-z])(?=[A-Z])/).filter((word) => word !== '');
  return [...new Set(words.map((word) => word.toLowerCase()))];
}

/** Whether words differ by at most one letter, or by two neighbours in the wrong order. */
function isNearly(one: string, other: string): boolean {
  if (one === other) return true;
  const shorter = Math.min(one.length, other.length);
  if (shorter < 4) return false;
  let start = 0;
  while (start < shorter && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const [left, right] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
  return (left.length <= 1 && right.length <= 1) || (left.length === 2 && left === `${right[1]}${right[0]}`);
}
