import MailComposer from 'nodemailer/lib/mail-composer';
import { isSenderAddress, needsUtf8, sendableAddress } from './mail-address.js';
import { type MailMessage, type MailOutcome } from './message.js';

/** A message as it is handed to a server. */
export type Composed = {
  /** As of the message. No header tells it: only where the file stands. */
  organizationId: string | null;
  envelope: { from: string; to: string };
  raw: Buffer;
  /** Only a server that knows SMTPUTF8 takes it. */
  needsUtf8: boolean;
};

/** Lines of a header longer than 998 bytes are refused by many (RFC 5322, 2.1.1), and of words alone can any be made. */
const LONGEST_SUBJECT = 500;
const LONGEST_NAME = 200;
/** Also halves of characters, which no encoding has. */
const NO_CHARACTERS = /[\x00-\x1f\x7f\u0085\u2028\u2029\p{Surrogate}]+/gu;
const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]*$/;
/** Of a header that a program reads, so that it is not cut: longer ones than any that there is a use for. */
const LONGEST_HEADER = 900;
const MESSAGE_ID = /^[\x21-\x3b\x3d\x3f\x41-\x7e]{1,200}@[a-z0-9.-]{1,253}$/i;

/**
 * @returns the message, or that it is refused: for an address or a header that no message can have.
 * @throws where the program, not its data, is wrong: a Message-ID or the name of a header that is none.
 */
export async function compose(message: MailMessage): Promise<Composed | MailOutcome> {
  const { organizationId, from, replyTo, text, html, messageId, headers = {}, automatic } = message;
  if (!MESSAGE_ID.test(messageId)) throw new Error('A Message-ID must be ASCII without spaces, with one @.');
  const to = sendableAddress(message.to);
  if (to === undefined) return refused('the address of the recipient is none that a server takes');
  if (!isSenderAddress(from.address))
    return refused('the address of the sender is none that mail can come from');
  if (replyTo !== null && !isSenderAddress(replyTo)) {
    return refused('the address for answers (Reply-To) is none that they can go to');
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw new Error(`${JSON.stringify(name)} is not the name of a header.`);
    if (value.length > LONGEST_HEADER || /[^\x20-\x7e]/.test(value)) {
      return refused(`the header ${name} is too long, or has other characters than visible ASCII`);
    }
  }
  const sender = sendableAddress(from.address)!;
  // As objects: of a text with commas, nodemailer would make several addresses.
  const address = (one: string, name = '') => ({ name, address: one });
  const raw = await new MailComposer({
    from: address(sender, line(from.name ?? '', LONGEST_NAME)),
    to: address(to),
    ...(replyTo === null ? {} : { replyTo: address(sendableAddress(replyTo)!) }),
    subject: line(message.subject, LONGEST_SUBJECT),
    // Without any there would be no plain part.
    text: text === '' ? '\n' : text,
    ...(html === null || html === '' ? {} : { html }),
    messageId: `<${messageId}>`,
    headers: { ...headers, ...(automatic ? { 'Auto-Submitted': 'auto-generated' } : {}) },
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
  return { organizationId, envelope: { from: sender, to }, raw, needsUtf8: needsUtf8(to) };
}

/** On one line, and of a length that can be read. */
function line(text: string, longest: number): string {
  const characters = [...text.replace(NO_CHARACTERS, ' ').trim()];
  if (characters.length <= longest) return characters.join('');
  return `${characters.slice(0, longest - 1).join('')}…`;
}

function refused(detail: string): MailOutcome {
  return { outcome: 'refused', permanent: true, code: null, detail };
}
