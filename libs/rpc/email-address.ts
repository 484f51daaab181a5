import { isEmail } from 'class-validator';
import { domainToASCII } from 'node:url';

/** Invisible characters: soft hyphens, zero-width spaces and joiners, direction marks, fillers. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const ASCII = /^[\x00-\x7f]*$/;

/**
 * The form in which addresses are compared, because one person can spell theirs in many ways. It ignores case,
 * compatible forms of letters (NFKC: full-width ones, ligatures) and invisible characters. Domains are in their
 * DNS form (IDNA, UTS #46), so `bücher.example` equals `xn--bcher-kva.example`.
 */
export function comparableEmail(email: string): string {
  // Most addresses are ASCII.
  if (ASCII.test(email)) return email.toLowerCase();
  // Lowercasing can decompose letters, such as İ. A sigma has another form at the end of a word.
  const small = email.normalize('NFKC').replace(INVISIBLE, '').toLowerCase().replaceAll('ς', 'σ');
  const folded = small.normalize('NFKC');
  const at = folded.lastIndexOf('@');
  const domain = folded.slice(at + 1);
  // Invalid domains have no DNS form and stay unchanged.
  return `${folded.slice(0, at + 1)}${(ASCII.test(domain) ? domain : domainToASCII(domain)) || domain}`;
}

/** Whether email can be sent to it, and to the form in which it is compared. */
export function isEmailAddress(text: unknown): boolean {
  if (typeof text !== 'string' || !isEmail(text)) return false;
  const compared = comparableEmail(text);
  return compared === text || (ASCII.test(compared.slice(compared.lastIndexOf('@'))) && isEmail(compared));
}
