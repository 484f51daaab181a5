import { type Comparison } from '#libs/projections';
import { lowerAscii, withoutCase } from './folded-text.js';

const LANGUAGES = ['en', 'de', 'fr', 'es'];
/** Codes that do not name one country. */
const NO_COUNTRIES = ['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ'];
/** Common names that Intl does not know. */
const OTHER_NAMES: { readonly [code: string]: readonly string[] } = {
  AE: ['UAE'],
  CD: ['DR Congo', 'Democratic Republic of the Congo', 'Demokratische Republik Kongo'],
  CI: ['Ivory Coast', 'Elfenbeinküste', 'Costa de Marfil'],
  CZ: ['Czech Republic', 'Tschechische Republik', 'République tchèque', 'República Checa'],
  DE: ['Federal Republic of Germany', 'Bundesrepublik Deutschland', 'BRD'],
  GB: ['Great Britain', 'Großbritannien', 'Grande-Bretagne', 'Gran Bretaña'],
  HK: ['Hong Kong', 'Hongkong'],
  KR: ['Korea', 'Republic of Korea', 'Korea, Republic of'],
  MD: ['Republic of Moldova', 'Moldova, Republic of', 'Moldawien'],
  MK: ['Macedonia', 'Mazedonien'],
  MM: ['Burma', 'Birma', 'Birmanie', 'Birmania'],
  MO: ['Macao', 'Macau'],
  NL: ['The Netherlands', 'Holland', 'Holanda'],
  PS: ['Palestine', 'Palästina', 'Palestina'],
  RU: ['Russian Federation', 'Russische Föderation', 'Fédération de Russie'],
  TR: ['Turkey', 'Turkiye'],
  US: ['USA', 'U.S.', 'U.S.A.', 'United States of America', 'Vereinigte Staaten von Amerika', 'EE. UU.'],
  VN: ['Viet Nam'],
};

type Country = {
  /** Its ISO 3166 code. */
  code: string;
  /** Everything that a contact may have as this country, with A–Z in lower case. */
  forms: readonly string[];
};

/** Countries by each of their forms. */
let countries: ReadonlyMap<string, Country> | undefined;

/** The ISO 3166 code of a country given as a code or a name in English, German, French or Spanish. */
export function countryCode(text: string): string | undefined {
  return countryOf(text)?.code;
}

/**
 * The condition for a country in the `country` column: its names and codes in any case are one. A text that is not a
 * country equals itself in any case.
 */
export function inCountry(text: string | undefined): Comparison | undefined {
  if (text === undefined) return undefined;
  return { sql: `${withoutCase('country')} = ANY (?::text[])`, value: formsOfCountry(text) };
}

/** Whether a contact's country is the one in a filter. Equals `inCountry`. */
export function isInCountry(country: string | null, text: string): boolean {
  return country !== null && formsOfCountry(text).includes(lowerAscii(country));
}

/** Everything that contacts in the same country may have as their country, with A–Z in lower case. */
export function formsOfCountry(text: string): readonly string[] {
  return countryOf(text)?.forms ?? formsOf(text);
}

/**
 * Adds up numbers of the same country, under its most frequent spelling.
 *
 * @param numbers by country as stored; null if unknown.
 */
export function sumByCountry(
  numbers: Iterable<readonly [string | null, number]>,
): Map<string | null, number> {
  const groups = new Map<string | null, { spelling: string | null; most: number; sum: number }>();
  for (const [spelling, number] of numbers) {
    const key = spelling === null ? null : (countryCode(spelling) ?? spelling.toLowerCase());
    const group = groups.get(key) ?? { spelling, most: number, sum: 0 };
    if (number > group.most) Object.assign(group, { spelling, most: number });
    group.sum += number;
    groups.set(key, group);
  }
  return new Map([...groups.values()].map(({ spelling, sum }) => [spelling, sum]));
}

/** Countries in the order of their names, by language. */
const listed = new Map<string, ReadonlyMap<string, string>>();

/** The name of each country by its code, in the order of the names. */
function namesIn(language: string): ReadonlyMap<string, string> {
  let names = listed.get(language);
  if (!names) {
    const display = new Intl.DisplayNames([language], { type: 'region' });
    const { compare } = new Intl.Collator(language);
    const codes = new Set([...allCountries().values()].map(({ code }) => code));
    names = new Map(
      [...codes]
        .filter((code) => !RESERVED.includes(code))
        .map((code): [string, string] => [code, display.of(code)!])
        .toSorted(([, one], [, other]) => compare(one, other)),
    );
    listed.set(language, names);
  }
  return names;
}

/** The name in a language of a country stored as its code. Everything else stays as it was entered. */
export function countryName(language: string, stored: string): string {
  return namesIn(language).get(stored) ?? stored;
}

/**
 * The countries for a form, with their codes as values, in the order of their names.
 *
 * @param stored the current value. It stays as it was entered: as the value of its country, or first if it is not a
 *   country.
 */
export function countryChoices(language: string, stored?: string | null): { value: string; text: string }[] {
  const names = namesIn(language);
  const code = stored ? countryCode(stored) : undefined;
  const choices = [...names].map(([value, text]) => ({ value: value === code ? stored! : value, text }));
  return stored && !names.has(code ?? '') ? [{ value: stored, text: stored }, ...choices] : choices;
}

function countryOf(text: string): Country | undefined {
  return allCountries().get(text.normalize('NFC').trim().toLowerCase());
}

function allCountries(): ReadonlyMap<string, Country> {
  return (countries ??= readCountries());
}

/** Intl knows former codes under the current names: `DD` is Germany. */
function readCountries(): ReadonlyMap<string, Country> {
  const displays = LANGUAGES.map(
    (language) => new Intl.DisplayNames([language], { type: 'region', fallback: 'none' }),
  );
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const byName = new Map<string, { codes: string[]; names: Set<string> }>();
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    const names = displays.flatMap((display) => display.of(code) ?? []);
    if (names.length === 0 || NO_COUNTRIES.includes(code)) continue;
    const known = byName.get(names[0]!) ?? { codes: [], names: new Set() };
    known.codes.push(code);
    for (const name of [code, ...names, ...(OTHER_NAMES[code] ?? [])]) known.names.add(name);
    byName.set(names[0]!, known);
  }
  const all = new Map<string, Country>();
  for (const { codes, names } of byName.values()) {
    const forms = [...new Set([...names].flatMap(formsOf))];
    const country = { code: currentOf(codes), forms };
    for (const form of forms) if (!all.has(form)) all.set(form, country);
  }
  return all;
}

/** Codes that are reserved for parts of a country, such as the Canary Islands. */
const RESERVED = ['AC', 'CP', 'CQ', 'DG', 'EA', 'IC', 'TA'];

/** Former codes with the name of their successor. */
const FORMER = [
  'AN',
  'BU',
  'CS',
  'DD',
  'DY',
  'FX',
  'HV',
  'NH',
  'RH',
  'SU',
  'TP',
  'UK',
  'VD',
  'YD',
  'YU',
  'ZR',
];

function currentOf(codes: readonly string[]): string {
  return codes.find((code) => !FORMER.includes(code)) ?? codes[0]!;
}

/**
 * A name with and without accents, with either apostrophe, and with "and" or "&", in lower case. The index only
 * changes A–Z (`withoutCase`), so capital letters with accents stay.
 */
function formsOf(name: string): string[] {
  const plain = name.normalize('NFC').trim();
  const spelled = [plain, plain.replaceAll('’', "'"), plain.replaceAll('&', 'and')];
  const withoutAccents = spelled.map((one) => one.normalize('NFD').replace(/\p{Mark}/gu, ''));
  const forms = [...spelled, ...withoutAccents].flatMap((one) => [
    one.toLowerCase(),
    lowerAscii(one),
    lowerAscii(one.toUpperCase()),
  ]);
  return [...new Set(forms)];
}
