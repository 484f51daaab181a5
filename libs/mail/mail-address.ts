import { domainToASCII } from 'node:url';
import { comparableEmail, isEmailAddress } from '#libs/rpc';
import { type MailAddress } from './message.js';

const ASCII = /^[\x00-\x7f]*$/;
/** A quoted local part may contain these characters, but a line of SMTP or a header may not. */
const UNSENDABLE = /[\x00-\x1f\x7f<>]/;

/**
 * The form in which an address is sent to a server, with the domain in its DNS form. The local part does not change, unless
 * it contains characters other than ASCII. Then the form for comparisons is used, which replaces full-width letters, for
 * example.
 *
 * @returns undefined if no server would accept it.
 */
export function sendableAddress(address: string): string | undefined {
  if (!isEmailAddress(address) || UNSENDABLE.test(address)) return undefined;
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  const sendable = ASCII.test(local) ? `${local}@${domainOf(address, at)}` : comparableEmail(address);
  return UNSENDABLE.test(sendable) ? undefined : sendable;
}

function domainOf(address: string, at: number): string {
  const domain = address.slice(at + 1);
  return (ASCII.test(domain) ? domain : domainToASCII(domain)) || domain;
}

/**
 * Whether mail to the address arrives at the domain that comparisons use. Comparisons ignore some characters that delivery
 * does not: the owner of `xn--example-5gj.org` must not pass for someone at `example.org`.
 */
export function isSentAsCompared(address: string): boolean {
  const sendable = sendableAddress(address);
  const domain = (one: string) => one.slice(one.lastIndexOf('@') + 1).toLowerCase();
  return sendable !== undefined && domain(sendable) === domain(comparableEmail(address));
}

/** Whether only servers that support SMTPUTF8 (RFC 6531) accept it, because its local part is not ASCII. */
export function needsUtf8(address: string): boolean {
  return !ASCII.test(address.slice(0, address.lastIndexOf('@')));
}

/**
 * Whether the address can be used as a sender and for replies. It must not need SMTPUTF8: few servers support it, and people
 * who reply may use any of them.
 */
export function isSenderAddress(address: string): boolean {
  const sendable = sendableAddress(address);
  return sendable !== undefined && !needsUtf8(sendable);
}

const MAILBOX = /^(?:"(?<quoted>[^"\\]*)"|(?<plain>[^"<>]*))\s*<(?<address>[^<>]+)>$/;
const LONGEST_NAME = 200;

/** Parses `Clean Rivers <office@rivers.example>` or a bare address. @returns undefined if it is neither. */
export function readMailAddress(text: string): MailAddress | undefined {
  const { quoted, plain = '', address = text } = MAILBOX.exec(text.trim())?.groups ?? {};
  const name = (quoted ?? plain).trim();
  if (!isSenderAddress(address.trim()) || UNSENDABLE.test(name) || name.length > LONGEST_NAME)
    return undefined;
  return { name: name === '' ? null : name, address: address.trim() };
}
