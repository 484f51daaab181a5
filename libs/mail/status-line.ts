const LONGEST = 300;
/** The rest of a longer reply is ignored. */
const MOST_READ = 2_000;

/**
 * A server's reply in a form that can be stored and shown: on one line, without any address. The recipient's address is removed
 * even if only one side of the @ is repeated.
 */
export function statusLine(answer: string, recipient?: string): string {
  let text = answer
    .slice(0, MOST_READ)
    .replace(/[\x00-\x1f\x7f]+/g, ' ')
    .replace(/[^\s<>"'()[\],;:]*(@|%40)[^\s<>"'()[\],;:]*/gi, '…');
  const at = recipient?.lastIndexOf('@') ?? -1;
  for (const part of at < 0 ? [] : [recipient!.slice(0, at), recipient!.slice(at + 1)]) {
    // Most replies repeat neither, and the expression takes a millisecond, longer than the message itself.
    if (!text.toLowerCase().includes(part.toLowerCase())) continue;
    // Only whole words: an address with the local part "a" must not remove every "a".
    const word = `(?<![\\p{L}\\p{N}])${part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?![\\p{L}\\p{N}])`;
    text = text.replace(new RegExp(word, 'giu'), '…');
  }
  const line = text.trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
