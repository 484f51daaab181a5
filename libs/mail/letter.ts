import { accentsOf, html, mailButton } from '#libs/pages';
import { type Brand, linesOf, mailDocument } from './layout.js';

/** An email to one person about one matter: its text and, if there is something to do, a button. */
export type Letter = {
  /** The language of the text, as in HTML's `lang`. */
  language: string;
  subject: string;
  /** The sender's. Undefined: the default look. */
  brand?: Brand | undefined;
  /** Can have several lines. */
  paragraphs: readonly string[];
  button?: { url: string; text: string };
  /** Below the button. */
  after?: readonly string[];
  /** The sender, line by line. */
  foot: readonly string[];
  /** Below the sender. */
  links?: readonly { url: string; text: string }[];
};

/** The subject and the two parts of the message. The plain text contains the button's URL. */
export function writeLetter(letter: Letter): { subject: string; text: string; html: string } {
  return { subject: letter.subject, text: textOf(letter), html: htmlOf(letter) };
}

function textOf({ paragraphs, button, after = [], foot, links = [] }: Letter): string {
  const action = button ? [button.url] : [];
  const signature = ['-- ', ...foot, ...links.map(({ url, text }) => `${text}: ${url}`)].join('\n');
  return [...paragraphs, ...action, ...after, signature].join('\n\n') + '\n';
}

function htmlOf({
  language,
  subject,
  brand,
  paragraphs,
  button,
  after = [],
  foot,
  links = [],
}: Letter): string {
  const paragraph = (text: string) => html`<p style="margin:0 0 16px">${linesOf(text.split('\n'))}</p>`;
  return mailDocument({
    language,
    title: subject,
    brand,
    content: html`${paragraphs.map(paragraph)}
      ${button ? mailButton(button.url, button.text, accentsOf(brand?.colour ?? null).light) : null}
      ${after.map(paragraph)}`,
    foot: html`<p style="margin:0">${linesOf(foot)}</p>
      ${links.map(({ url, text }) => html`<p style="margin:8px 0 0"><a href="${url}" style="color:inherit">${text}</a></p>`)}`,
  });
}
