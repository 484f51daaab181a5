export type MailAddress = { name: string | null; address: string };

export type MailMessage = {
  /**
   * Whose owners may read it where mail is written to files; null for nobody's: what lets a person in who is known in other
   * organizations, too.
   */
  organizationId: string | null;
  from: MailAddress;
  replyTo: string | null;
  to: string;
  subject: string;
  text: string;
  html: string | null;
  /** Without <>. Made of what the message is about, so that one that is sent again is the same to whoever has both. */
  messageId: string;
  headers?: Readonly<Record<string, string>>;
  /** Nobody wrote it: answering machines are told not to answer (RFC 3834). */
  automatic: boolean;
};

/** What became of a message. `detail` is for people: a status line, the name of a file; never the address or the content. */
export type MailOutcome =
  | { outcome: 'sent'; detail: string }
  /** The server said no to this message, and has not accepted it. Permanent: it will say so again (5xx). */
  | { outcome: 'refused'; permanent: boolean; code: number | null; detail: string }
  /** Connection, TLS or login failed, or ended before the message's end was handed over: surely not accepted. */
  | { outcome: 'unreachable'; detail: string }
  /** The whole message was handed over and no answer came. */
  | { outcome: 'in-doubt'; detail: string };
