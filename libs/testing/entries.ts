/**
 * Fails unless a table in the sources has exactly one entry for each name. The message says what to edit.
 *
 * @param place the table, with its file.
 */
export function expectEntries(place: string, found: readonly string[], needed: readonly string[]): void {
  const missing = needed.filter((name) => !found.includes(name));
  const unneeded = found.filter((name, n) => !needed.includes(name) || found.indexOf(name) !== n);
  const faults = [
    ...(missing.length > 0 ? [`Add to ${place}: ${missing.join(', ')}`] : []),
    ...(unneeded.length > 0 ? [`Remove from ${place}: ${unneeded.join(', ')}`] : []),
  ];
  if (faults.length > 0) throw new Error(faults.join('\n'));
}
