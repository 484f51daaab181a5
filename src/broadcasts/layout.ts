import { localeIn } from '#locales';
import { type Brand, linesOf, mailDocument } from '#libs/mail';
import { html, trusted } from '#libs/pages';
import { type Rendered } from './merge-fields.js';

/** The sender, as shown in the footer of each message. */
export type Sender = { brand: Brand; postalAddress: string | null; language: string };

export function htmlOf(
  { subject, preheader, html: content, look }: Rendered,
  { brand, postalAddress, language: preferred }: Sender,
  unsubscribeUrl: string,
): string {
  const { language, emails } = localeIn(preferred);
  const words = emails.broadcastFooter;
  const { name } = brand;
  const lines = [name, ...(postalAddress ?? '').split(/\r?\n/)].filter((line) => line !== '');
  return mailDocument({
    language,
    title: subject,
    preheader,
    brand,
    ...look,
    content: trusted(content),
    foot: html`<p style="margin:0 0 8px">${words.why(name)}</p>
      <p style="margin:0 0 8px">${linesOf(lines)}</p>
      <p style="margin:0">
        <a href="${unsubscribeUrl}" style="color:#57606a;text-decoration:underline">${words.unsubscribe}</a>
      </p>`,
  });
}

export function textOf(
  { text }: Rendered,
  { brand: { name }, postalAddress, language }: Sender,
  unsubscribeUrl: string,
): string {
  const words = localeIn(language).emails.broadcastFooter;
  // Email clients recognize the end of a message by this line (RFC 3676, section 4.3).
  const foot = ['-- ', words.why(name), name, ...(postalAddress === null ? [] : [postalAddress])];
  return `${text.trim()}\n\n${foot.join('\n')}\n\n${words.unsubscribe}: ${unsubscribeUrl}\n`;
}
