const LONGEST = 300;
/** Of an answer as long as a server likes, more than this is not even looked at. */
const MOST_READ = 2_000;

/**
 * What a server answered, fit to be kept and shown: on one line, without the address of the recipient (whole, or either side
 * of the @) and without any other.
 */
export function statusLine(answer: string, recipient?: string): string {
  let said = answer
    .slice(0, MOST_READ)
    .replace(/[\x00-\x1f\x7f]+/g, ' ')
    .replace(/[^\s<>"'()[\],;:]*(@|%40)[^\s<>"'()[\],;:]*/gi, '…');
  const at = recipient?.lastIndexOf('@') ?? -1;
  for (const part of at < 0 ? [] : [recipient!.slice(0, at), recipient!.slice(at + 1)]) {
    // Most answers repeat neither, and the expression takes a millisecond: longer than the message did.
    if (!said.toLowerCase().includes(part.toLowerCase())) continue;
    // As a word: an address that begins with "a" must not take every "a" away.
    const word = `(?<![\\p{L}\\p{N}])${part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?![\\p{L}\\p{N}])`;
    said = said.replace(new RegExp(word, 'giu'), '…');
  }
  const line = said.trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
