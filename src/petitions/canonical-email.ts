import { comparableEmail } from '#libs/rpc';

/** Whose mailboxes are the same with and without dots. */
const WITHOUT_DOTS = new Set(['gmail.com', 'googlemail.com']);

/**
 * The mailbox behind an address, as the public site compares them: one person has as many addresses as they like. Without what stands
 * behind a `+`, which nearly all servers deliver to the mailbox before it; of Gmail without dots. Quotes, and strokes before letters in
 * them, are another way to write the same (RFC 5322 section 3.2.4).
 */
export function canonicalEmail(email: string): string {
  const comparable = comparableEmail(email);
  const at = comparable.lastIndexOf('@');
  const domain = comparable.slice(at + 1);
  const written = comparable.slice(0, at);
  const [, quoted] = /^"(.*)"$/su.exec(written) ?? [];
  const name = quoted?.replace(/\\(.)/gsu, '$1') ?? written;
  // An address that begins with it has nothing before it that could be a mailbox.
  const [mailbox = ''] = name.split('+', 1);
  const local = mailbox || name;
  return WITHOUT_DOTS.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
}
