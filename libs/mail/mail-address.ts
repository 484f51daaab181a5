import { domainToASCII } from 'node:url';
import { comparableEmail, isEmailAddress } from '#libs/rpc';
import { type MailAddress } from './message.js';

const ASCII = /^[\x00-\x7f]*$/;
/** A quoted part before the @ may hold all of these; nothing that is sent as a line of its own may. */
const UNSENDABLE = /[\x00-\x1f\x7f<>]/;

/**
 * The form in which an address is handed to a server: the domain as the DNS has it. What stands before the @ stays as it
 * is, unless it has letters that only look different (full-width ones, say): then it is as addresses are compared.
 *
 * @returns undefined where no server would take it.
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
 * Whether mail to it arrives at the domain that it is compared as. Some letters are overlooked when addresses are compared and not where
 * mail is sent: whoever owns `xn--example-5gj.org` must not pass for somebody at `example.org`.
 */
export function isSentAsCompared(address: string): boolean {
  const sendable = sendableAddress(address);
  const domain = (one: string) => one.slice(one.lastIndexOf('@') + 1).toLowerCase();
  return sendable !== undefined && domain(sendable) === domain(comparableEmail(address));
}

/** Whether only servers that know SMTPUTF8 (RFC 6531) take it: it has other letters than ASCII before the @. */
export function needsUtf8(address: string): boolean {
  return !ASCII.test(address.slice(0, address.lastIndexOf('@')));
}

/**
 * Whether mail can come from it and answers go to it: few servers know SMTPUTF8, and whoever answers may be a customer of
 * any.
 */
export function isSenderAddress(address: string): boolean {
  const sendable = sendableAddress(address);
  return sendable !== undefined && !needsUtf8(sendable);
}

const MAILBOX = /^(?:"(?<quoted>[^"\\]*)"|(?<plain>[^"<>]*))\s*<(?<address>[^<>]+)>$/;
const LONGEST_NAME = 200;

/** `Clean Rivers <office@rivers.example>`, or an address alone. @returns undefined where it is neither. */
export function readMailAddress(text: string): MailAddress | undefined {
  const { quoted, plain = '', address = text } = MAILBOX.exec(text.trim())?.groups ?? {};
  const name = (quoted ?? plain).trim();
  if (!isSenderAddress(address.trim()) || UNSENDABLE.test(name) || name.length > LONGEST_NAME)
    return undefined;
  return { name: name === '' ? null : name, address: address.trim() };
}
