import { createHash } from 'node:crypto';
import MailComposer from 'nodemailer/lib/mail-composer';
import { isSenderAddress, needsUtf8, sendableAddress } from './mail-address.js';
import { type MailMessage, type MailOutcome } from './message.js';

/** A message in the form in which it is sent to a server. */
export type Composed = {
  /** See `MailMessage`. It appears in no header, only in the path of a file. */
  organizationId: string | null;
  envelope: { from: string; to: string };
  raw: Buffer;
  /** Only servers that support SMTPUTF8 accept it. */
  needsUtf8: boolean;
};

/** In characters. Many servers reject header lines longer than 998 bytes (RFC 5322, 2.1.1). */
const LONGEST_SUBJECT = 500;
const LONGEST_NAME = 200;
/** Includes lone surrogates, which cannot be encoded. */
const NO_CHARACTERS = /[\x00-\x1f\x7f\u0085\u2028\u2029\p{Surrogate}]+/gu;
const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]*$/;
/** Headers for programs cannot be shortened, so longer ones are rejected. No useful header is that long. */
const LONGEST_HEADER = 900;
/** In characters, without <>. `Message-ID: <…>` then fits on one line: some servers break mail with a folded one. */
const LONGEST_ID = 61;
/** Ids up to this length stay as they are: bounces lead back by those of broadcasts. */
const LONGEST_LOCAL_PART = 44;
const MESSAGE_ID = /^[\x21-\x3b\x3d\x3f\x41-\x7e]{1,200}@[a-z0-9.-]{1,253}$/i;

/**
 * @returns the message, or a rejection because of an invalid address or header value.
 * @throws for an error of the program: an invalid Message-ID or header name.
 */
export async function compose(message: MailMessage): Promise<Composed | MailOutcome> {
  const { organizationId, from, replyTo, text, html, messageId, headers = {}, automatic } = message;
  if (!MESSAGE_ID.test(messageId)) throw new Error('A Message-ID must be ASCII without spaces, with one @.');
  const to = sendableAddress(message.to);
  if (to === undefined) return refused('no mail server would accept the recipient’s address');
  if (!isSenderAddress(from.address)) return refused('the sender’s address cannot be used to send mail');
  if (replyTo !== null && !isSenderAddress(replyTo)) {
    return refused('the Reply-To address cannot receive replies');
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw new Error(`${JSON.stringify(name)} is not the name of a header.`);
    if (value.length > LONGEST_HEADER || /[^\x20-\x7e]/.test(value)) {
      return refused(`the header ${name} is too long or contains characters other than printable ASCII`);
    }
  }
  const sender = sendableAddress(from.address)!;
  // As objects, because nodemailer would split a text with commas into several addresses.
  const address = (one: string, name = '') => ({ name, address: one });
  const raw = await new MailComposer({
    from: address(sender, line(from.name ?? '', LONGEST_NAME)),
    to: address(to),
    ...(replyTo === null ? {} : { replyTo: address(sendableAddress(replyTo)!) }),
    subject: line(message.subject, LONGEST_SUBJECT),
    // An empty text would omit the plain part.
    text: text === '' ? '\n' : text,
    ...(html === null || html === '' ? {} : { html }),
    messageId: `<${shortened(messageId)}>`,
    headers: { ...headers, ...(automatic ? { 'Auto-Submitted': 'auto-generated' } : {}) },
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
  return { organizationId, envelope: { from: sender, to }, raw, needsUtf8: needsUtf8(to) };
}

/** Makes a Message-ID fit on one line: keeps the kind of email before the first dot, a hash of the rest, and the end of the domain. */
function shortened(messageId: string): string {
  if (messageId.length <= LONGEST_ID) return messageId;
  const at = messageId.lastIndexOf('@');
  const [id, labels] = [messageId.slice(0, at), messageId.slice(at + 1).split('.')];
  const digest = createHash('sha256').update(id).digest('base64url').slice(0, 22);
  const local = id.length > LONGEST_LOCAL_PART ? `${id.split('.', 1)[0]!.slice(0, 20)}.${digest}` : id;
  while (labels.length > 1 && local.length + 1 + labels.join('.').length > LONGEST_ID) labels.shift();
  return `${local}@${labels.join('.')}`;
}

/** Puts a text on one line and shortens it. */
function line(text: string, longest: number): string {
  const characters = [...text.replace(NO_CHARACTERS, ' ').trim()];
  if (characters.length <= longest) return characters.join('');
  return `${characters.slice(0, longest - 1).join('')}…`;
}

function refused(detail: string): MailOutcome {
  return { outcome: 'refused', permanent: true, code: null, detail };
}
