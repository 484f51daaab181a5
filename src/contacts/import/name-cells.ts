/** The cell in which imports find these names. */
export function writeNames(names: readonly string[]): string {
  return names.map((name) => (/[,;|"]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join(', ');
}
