import { comparableEmail } from '#libs/rpc';

/** Domains that ignore dots in the mailbox name. */
const WITHOUT_DOTS = new Set(['gmail.com', 'googlemail.com']);

/**
 * Returns the mailbox behind an address, by which the public site recognizes a signer who uses variants of
 * one address. Drops `+` and what follows it, which nearly all servers ignore, and the dots of Gmail
 * addresses. Also removes quotes and escapes, which are another way to write the same name (RFC 5322, section
 * 3.2.4).
 */
export function canonicalEmail(email: string): string {
  const comparable = comparableEmail(email);
  const at = comparable.lastIndexOf('@');
  const domain = comparable.slice(at + 1);
  const written = comparable.slice(0, at);
  const [, quoted] = /^"(.*)"$/su.exec(written) ?? [];
  const name = quoted?.replace(/\\(.)/gsu, '$1') ?? written;
  // If the name begins with `+`, nothing before it could be a mailbox.
  const [mailbox = ''] = name.split('+', 1);
  const local = mailbox || name;
  return WITHOUT_DOTS.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
}
