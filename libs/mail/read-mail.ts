import { type Email } from 'postal-mime';

export type MailHead = { from: string; to: string; subject: string };

/** `sentAt` is the Date header; null if that is not a valid date. `html` is null if the message is plain text. */
export type ReadMail = MailHead & { sentAt: string | null; text: string; html: string | null };

/** @param start the beginning of a message, including all its headers. */
export async function readHead(start: Buffer): Promise<MailHead> {
  const end = start.indexOf('\r\n\r\n');
  return headOf(await parse(end === -1 ? start : start.subarray(0, end)));
}

export async function readMail(bytes: Buffer): Promise<ReadMail> {
  const email = await parse(bytes);
  const { date = '', text = '', html = '' } = email;
  const sentAt = Number.isNaN(Date.parse(date)) ? null : date;
  return { ...headOf(email), sentAt, text: text.trim(), html: html === '' ? null : html };
}

/** Loads the parser on demand, because nothing reads mail if there is a mail server. */
async function parse(bytes: Buffer): Promise<Email> {
  const { default: PostalMime } = await import('postal-mime');
  return PostalMime.parse(bytes, { maxNestingDepth: 10, forceRfc822Attachments: true });
}

function headOf({ from, to = [], subject = '' }: Email): MailHead {
  return { from: nameOf(from), to: to.map(nameOf).join(', '), subject };
}

function nameOf(address: Email['from']): string {
  const { name = '', address: mailbox = '' } = address ?? {};
  return name === '' ? mailbox : `${name} <${mailbox}>`;
}
