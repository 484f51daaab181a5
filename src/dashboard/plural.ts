/** The form of a word that goes with a number, with the number as people of the language write it. */
export function counted(dates: string, n: number, one: string, other: string): string {
  const form = new Intl.PluralRules(dates).select(n) === 'one' ? one : other;
  return `${new Intl.NumberFormat(dates).format(n)} ${form}`;
}
