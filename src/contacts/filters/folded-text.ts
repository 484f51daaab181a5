import { type Bind } from '#libs/projections';

/**
 * Texts are compared without regard to case, by one rule in PostgreSQL and here. The lower() of PostgreSQL
 * depends on the database's locale and JavaScript's on the surrounding letters, so an auditor could recompute other
 * recipients than those of a broadcast. Instead, letters are replaced one by one: those that have a single
 * lowercase letter. COLLATE "C" limits lower() to A–Z; other letters are replaced by `translate`.
 */

/** The most spellings of a text that are listed, so that an index finds it. */
const MOST_SPELLINGS = 64;

/** The lowercase letter of each letter beyond ASCII, and the reverse. */
const lowercase = new Map<string, string>();
const uppercase = new Map<string, string[]>();
for (let point = 0x80; point <= 0x1ffff; point += 1) {
  const letter = String.fromCodePoint(point);
  const lower = letter.toLowerCase();
  // The Kelvin sign, for example, has an ASCII letter, and İ has two letters. Both stay as they are.
  if (lower === letter || lower < '\u0080' || [...lower].length > 1) continue;
  lowercase.set(letter, lower);
  uppercase.set(lower, [...(uppercase.get(lower) ?? []), letter]);
}

/** The text in lower case. */
export function fold(text: string): string {
  let folded = '';
  for (const letter of text)
    folded += letter < '\u0080' ? letter.toLowerCase() : (lowercase.get(letter) ?? letter);
  return folded;
}

/** The text with A–Z in lower case, like `withoutCase`. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** SQL for the column with A–Z in lower case. The projection's indexes are on this expression. */
export function withoutCase(column: string): string {
  return `lower(${column} COLLATE "C")`;
}

/** The same for the texts in a JSON column, whose keys have no capital letters. */
export function jsonWithoutCase(column: string): string {
  return `lower(${column}::text COLLATE "C")::jsonb`;
}

/** SQL: whether the column equals the text. */
export function equalsFolded(column: string, text: string, bind: Bind): string {
  const folded = fold(text);
  const spellings = spellingsOf(text);
  if (!spellings) return `${foldedFor(column, folded, bind)} = ${bind(folded)}`;
  return spellings.length === 1
    ? `${withoutCase(column)} = ${bind(folded)}`
    : `${withoutCase(column)} = ANY (${bind(spellings)}::text[])`;
}

/** SQL: whether the column contains the text. */
export function containsFolded(column: string, text: string, bind: Bind): string {
  const folded = fold(text);
  return `strpos(${foldedFor(column, folded, bind)}, ${bind(folded)}) > 0`;
}

/** SQL: whether the column starts with the text. */
export function startsWithFolded(column: string, text: string, bind: Bind): string {
  const folded = fold(text);
  const pattern = `${folded.replace(/[\\%_]/g, '\\$&')}%`;
  return `${foldedFor(column, folded, bind)} LIKE ${bind(pattern)}`;
}

/** SQL for the column, folded as far as a comparison with this folded text needs it. */
function foldedFor(column: string, folded: string, bind: Bind): string {
  const pairs = [...new Set(folded)].flatMap((lower) =>
    (uppercase.get(lower) ?? []).map((upper) => [upper, lower] as const),
  );
  if (pairs.length === 0) return withoutCase(column);
  const [from, to] = [0, 1].map((n) => bind(pairs.map((pair) => pair[n]).join('')));
  return `translate(${withoutCase(column)}, ${from}, ${to})`;
}

/** All texts with A–Z in lower case that equal this one without regard to case. Undefined if they are too many to list. */
export function spellingsOf(text: string): string[] | undefined {
  let spellings = [''];
  for (const lower of fold(text)) {
    const letters = [lower, ...(uppercase.get(lower) ?? [])];
    spellings = letters.flatMap((letter) => spellings.map((before) => before + letter));
    if (spellings.length > MOST_SPELLINGS) return undefined;
  }
  return spellings;
}
