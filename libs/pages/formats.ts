/** What a format is made of is looked up when it is made, which takes longer than fifty cells of a table: each is made once. */
function kept<Options, Format>(make: (locale: string, options: Options) => Format) {
  const formats = new Map<string, Format>();
  return (locale: string, options: Options): Format => {
    const name = `${locale} ${JSON.stringify(options)}`;
    let format = formats.get(name);
    if (format === undefined) formats.set(name, (format = make(locale, options)));
    return format;
  };
}

const dates = kept(
  (locale, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }),
);
const numbers = kept((locale, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options));
const plurals = kept((locale) => new Intl.PluralRules(locale));

/** A moment as people of the locale write it; days and hours are UTC's. */
export function formatDate(locale: string, options: Intl.DateTimeFormatOptions, moment: Date): string {
  return dates(locale, options).format(moment);
}

/** @param options of the program alone: each set of them is kept. */
export function formatNumber(locale: string, number: number, options: Intl.NumberFormatOptions = {}): string {
  return numbers(locale, options).format(number);
}

/** The form of a word that goes with a number: `one` and `other` are all that these languages need here. */
export function plural<Form>(locale: string, n: number, forms: { one: Form; other: Form }): Form {
  return plurals(locale, undefined).select(n) === 'one' ? forms.one : forms.other;
}

/** Such a form, with the number before it. */
export function counted(locale: string, n: number, one: string, other: string): string {
  return `${formatNumber(locale, n)} ${plural(locale, n, { one, other })}`;
}
