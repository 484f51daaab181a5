/** Caches formats, because creating one takes longer than formatting fifty cells of a table. */
function cached<Options, Format>(make: (locale: string, options: Options) => Format) {
  const formats = new Map<string, Format>();
  return (locale: string, options: Options): Format => {
    const name = `${locale} ${JSON.stringify(options)}`;
    let format = formats.get(name);
    if (format === undefined) formats.set(name, (format = make(locale, options)));
    return format;
  };
}

const dates = cached(
  (locale, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }),
);
const numbers = cached((locale, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options));
const plurals = cached((locale) => new Intl.PluralRules(locale));

const languages = cached(
  (locale, options: Intl.DisplayNamesOptions) => new Intl.DisplayNames(locale, options),
);

/** The name of a language (BCP 47), by default in itself: `Français`. */
export function languageName(language: string, locale = language): string {
  const name = languages(locale, { type: 'language', languageDisplay: 'standard' }).of(language) ?? language;
  const [first = '', ...others] = name;
  return first.toLocaleUpperCase(locale) + others.join('');
}

/** Formats a moment for a locale, by default in UTC. */
export function formatDate(locale: string, options: Intl.DateTimeFormatOptions, moment: Date): string {
  return dates(locale, options).format(moment);
}

const relatives = cached(
  (locale, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(locale, options),
);
const MINUTE_MS = 60_000;
const UNITS = [
  // "Now", because seconds would change while someone reads them.
  ['second', Number.POSITIVE_INFINITY, MINUTE_MS],
  ['minute', MINUTE_MS, 60 * MINUTE_MS],
  ['hour', 60 * MINUTE_MS, 24 * 60 * MINUTE_MS],
  ['day', 24 * 60 * MINUTE_MS, 7 * 24 * 60 * MINUTE_MS],
] as const;

/** How long ago a moment of the last week was, such as "2 hours ago". Undefined if it is older or in the future. */
export function formatSince(locale: string, moment: Date, now = new Date()): string | undefined {
  const passed = now.getTime() - moment.getTime();
  // The clock of another machine may be ahead.
  if (passed < -MINUTE_MS) return undefined;
  const unit = UNITS.find(([, , below]) => passed < below);
  if (unit === undefined) return undefined;
  return relatives(locale, { numeric: 'auto', style: 'short' }).format(
    -Math.floor(Math.max(0, passed) / unit[1]),
    unit[0],
  );
}

/** @param options must come from the program, because each set of options is cached forever. */
export function formatNumber(locale: string, number: number, options: Intl.NumberFormatOptions = {}): string {
  return numbers(locale, options).format(number);
}

/** The form of a word that matches a number. The supported languages need only `one` and `other` here. */
export function plural<Form>(locale: string, n: number, forms: { one: Form; other: Form }): Form {
  return plurals(locale, undefined).select(n) === 'one' ? forms.one : forms.other;
}

/** The number, followed by the matching form. */
export function counted(locale: string, n: number, one: string, other: string): string {
  return `${formatNumber(locale, n)} ${plural(locale, n, { one, other })}`;
}
