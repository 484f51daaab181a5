import { isEmail } from 'class-validator';
import { domainToASCII } from 'node:url';

/** Characters that show nothing: soft hyphen, zero-width space and joiners, marks of direction, fillers. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const ASCII = /^[\x00-\x7f]*$/;

/**
 * The form in which addresses are compared: one person writes theirs in many ways. Without regard to case, to
 * compatible forms of letters (NFKC: full-width ones, ligatures) and to invisible characters; the domain as the DNS
 * has it (IDNA, UTS #46), so that `bücher.example` is `xn--bcher-kva.example`.
 */
export function comparableEmail(email: string): string {
  // Nearly all are.
  if (ASCII.test(email)) return email.toLowerCase();
  // Small letters may come apart again: İ. At the end of a word sigma looks otherwise.
  const small = email.normalize('NFKC').replace(INVISIBLE, '').toLowerCase().replaceAll('ς', 'σ');
  const folded = small.normalize('NFKC');
  const at = folded.lastIndexOf('@');
  const domain = folded.slice(at + 1);
  // What is no domain at all has no such form, and stays.
  return `${folded.slice(0, at + 1)}${(ASCII.test(domain) ? domain : domainToASCII(domain)) || domain}`;
}

/** Whether mail can be sent to it, also in the form in which it is compared. */
export function isEmailAddress(text: unknown): boolean {
  if (typeof text !== 'string' || !isEmail(text)) return false;
  const compared = comparableEmail(text);
  return compared === text || (ASCII.test(compared.slice(compared.lastIndexOf('@'))) && isEmail(compared));
}
