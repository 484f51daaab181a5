export type MailAddress = { name: string | null; address: string };

export function domainOf({ address }: MailAddress): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

export type MailMessage = {
  /**
   * The organization whose owners may read the message if mail is written to files. Null if none may, for example because it
   * contains a sign-in link for a person who also belongs to other organizations.
   */
  organizationId: string | null;
  from: MailAddress;
  replyTo: string | null;
  to: string;
  subject: string;
  text: string;
  html: string | null;
  /** Without <>. Derived from the message's purpose, so that a mail program recognizes a repeated message as the same. */
  messageId: string;
  headers?: Readonly<Record<string, string>>;
  /** The program wrote it, so automatic responders must not reply (RFC 3834). */
  automatic: boolean;
};

/** The outcome of a message. `detail` is for people: a status line or the name of a file, never the address or the content. */
export type MailOutcome =
  | { outcome: 'sent'; detail: string }
  /** The server rejected this message. Permanent means that it would reject it again (5xx). */
  | { outcome: 'refused'; permanent: boolean; code: number | null; detail: string }
  /** Connection, TLS or login failed, or the connection ended before the end of the message. It was certainly not accepted. */
  | { outcome: 'unreachable'; detail: string }
  /** The whole message was sent, but no reply came. */
  | { outcome: 'in-doubt'; detail: string };
