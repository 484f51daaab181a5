/** The form of a word that goes with a number: `one` and `other` are all that these languages need here. */
export function plural(locale: string, n: number, forms: { one: string; other: string }): string {
  return new Intl.PluralRules(locale).select(n) === 'one' ? forms.one : forms.other;
}
