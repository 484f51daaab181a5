import { comparableEmail } from '#libs/rpc';

/** Whose mailboxes are the same with and without dots. */
const WITHOUT_DOTS = new Set(['gmail.com', 'googlemail.com']);

/**
 * The mailbox behind an address, as the public site compares them: one person has as many addresses as they like. Without what stands
 * behind a `+`, which nearly all servers deliver to the mailbox before it; of Gmail without dots.
 */
export function canonicalEmail(email: string): string {
  const comparable = comparableEmail(email);
  const at = comparable.lastIndexOf('@');
  const domain = comparable.slice(at + 1);
  // An address that begins with it has nothing before it that could be a mailbox.
  const [mailbox = ''] = comparable.slice(0, at).split('+', 1);
  const local = mailbox || comparable.slice(0, at);
  return WITHOUT_DOTS.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
}
