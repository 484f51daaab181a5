import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { Readable } from 'node:stream';
import { type Composed } from './compose.js';
import { type MailServer } from './mail-url.js';
import { type MailOutcome } from './message.js';
import { statusLine } from './status-line.js';

/** In milliseconds. */
export type Timeouts = {
  /** From the DNS lookup to the end of STARTTLS. */
  connecting: number;
  /** For each reply. */
  silence: number;
  /** For all replies together: a server that sends one byte at a time is never silent. */
  message: number;
  /** For the reply to a message in progress when we are asked to stop. */
  stopping: number;
};

export const TIMEOUTS: Timeouts = { connecting: 15_000, silence: 30_000, message: 120_000, stopping: 5_000 };
const GREETING = 10_000;
/** We close idle connections, so that the server does not close them in the middle of a message. */
const IDLE = 15_000;

/** Nodemailer passes on a message in pieces as the network accepts them, so we know how much was sent. */
const PIECE = 16 * 1024;

/** Nodemailer's error, with the server's reply. */
type SmtpError = Error & {
  code?: string;
  originalCode?: string;
  command?: string;
  responseCode?: number;
  response?: string;
};

/** A reused connection that the server had closed: nothing of the message was sent. */
export const STALE = 'stale';

/** Codes about our login (missing, too weak or wrong), not about a message. */
const ABOUT_THE_LOGIN: readonly (number | undefined)[] = [454, 530, 534, 535, 538];

/** A connection to the server, after greeting and login. */
export class SmtpSession {
  private messages = 0;
  private isDirty = false;
  private isLeaving = false;
  private idleTimer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly connection: SMTPConnection,
    private readonly timeouts: Timeouts,
    private readonly acceptsUtf8: boolean,
  ) {}

  /** @throws the reason why there is no connection, including that of the signal. */
  static async open(server: MailServer, timeouts: Timeouts, signal: AbortSignal): Promise<SmtpSession> {
    const { host, port, secure, requireTls, login, name, tls } = server;
    const connection = new SMTPConnection({
      ...{ host, port, secure, tls, requireTLS: requireTls },
      ...(name === undefined ? {} : { name }),
      connectionTimeout: timeouts.connecting,
      greetingTimeout: Math.min(GREETING, timeouts.connecting),
      dnsTimeout: timeouts.connecting,
      socketTimeout: timeouts.silence,
      socketCloseTimeout: 1_000,
    });
    const close = () => connection.close();
    const late = setTimeout(close, timeouts.connecting + timeouts.silence);
    signal.addEventListener('abort', close, { once: true });
    try {
      const greeting = await new Promise<string>((resolve, reject) => {
        // Stays attached: without it, a later error would crash the process. `deliver` gets the error from `send`.
        connection.on('error', reject);
        connection.once('end', () => reject(new Error('the connection was closed')));
        signal.throwIfAborted();
        connection.connect((error) => {
          if (error) return reject(error);
          const offers = String(connection.lastServerResponse);
          if (!login) return resolve(offers);
          if (!connection.allowsAuth) {
            return reject(
              new NoLogin(
                'the server offers no login (AUTH), but MAIL_URL contains a user name and password',
              ),
            );
          }
          const credentials = { user: login.user, pass: login.password };
          connection.login({ credentials }, (failed) => (failed ? reject(failed) : resolve(offers)));
        });
      });
      return new SmtpSession(connection, timeouts, /^250[ -]SMTPUTF8\b/im.test(greeting));
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', close);
    }
  }

  get isOver(): boolean {
    return this.isLeaving || this.connection.destroyed;
  }

  get uses(): number {
    return this.messages;
  }

  /** Quits after `IDLE`, unless the session is used again. */
  rest(): void {
    this.idleTimer = setTimeout(() => this.leave(), IDLE).unref();
  }

  leave(): void {
    clearTimeout(this.idleTimer);
    if (this.isOver) return;
    this.isLeaving = true;
    this.connection.quit();
  }

  cut(): void {
    clearTimeout(this.idleTimer);
    this.connection.close();
  }

  /**
   * Sends a message.
   *
   * @param signal stops it if nothing was sent yet.
   * @param closing shortens the wait for the reply. A caller that aborts it also aborts `signal`.
   * @returns the outcome. {@link STALE} only on a reused session.
   */
  async deliver(
    { envelope, raw, needsUtf8 }: Composed,
    signal: AbortSignal,
    closing: AbortSignal,
  ): Promise<MailOutcome | typeof STALE> {
    clearTimeout(this.idleTimer);
    if (needsUtf8 && !this.acceptsUtf8) {
      const detail =
        'the server accepts only ASCII before the @ of an address (it does not support SMTPUTF8)';
      return { outcome: 'refused', permanent: true, code: null, detail };
    }
    const isUsed = this.messages > 0;
    if (this.isDirty && !(await this.reset(signal))) return STALE;
    if (signal.aborted) return { outcome: 'unreachable', detail: STOPPED };
    this.messages += 1;

    const content = new Content(raw);
    const timers: NodeJS.Timeout[] = [];
    let onAbort: (() => void) | undefined;
    let onClosing: (() => void) | undefined;
    let onEnd: (() => void) | undefined;
    const ended = await new Promise<Ended>((resolve) => {
      const giveUp = (detail: string) => {
        content.stop();
        this.cut();
        resolve({ gaveUp: detail });
      };
      onAbort = () => {
        if (!content.isBegun) giveUp(STOPPED);
      };
      onClosing = () => timers.push(setTimeout(giveUp, this.timeouts.stopping, STOPPED));
      signal.addEventListener('abort', onAbort, { once: true });
      closing.addEventListener('abort', onClosing, { once: true });
      // If nodemailer knows the reason, it reports it right after this.
      onEnd = () => setImmediate(giveUp, 'the connection was closed');
      this.connection.once('end', onEnd);
      timers.push(setTimeout(giveUp, this.timeouts.message, 'the server took too long'));
      this.connection.send(
        { from: envelope.from, to: [envelope.to], size: raw.length },
        content,
        (error, info) => {
          content.stop();
          resolve(error ? { error } : { answer: info.response });
        },
      );
    });
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener('abort', onAbort!);
    closing.removeEventListener('abort', onClosing!);
    this.connection.off('end', onEnd!);

    const result = judge(ended, content, isUsed, envelope.to);
    // Otherwise the next message would continue an unfinished one.
    if (result === STALE || (content.isBegun && !content.isHandedOver) || isAbrupt(result)) this.cut();
    else this.isDirty = result.outcome === 'refused';
    return result;
  }

  /** Resets the session after a rejected message. @returns false if the connection has ended. */
  private async reset(signal: AbortSignal): Promise<boolean> {
    let onEnd: (() => void) | undefined;
    const isReset = await new Promise<boolean>((resolve) => {
      onEnd = () => resolve(false);
      this.connection.once('end', onEnd);
      signal.addEventListener('abort', onEnd, { once: true });
      this.connection.reset((error) => resolve(!error));
    });
    this.connection.off('end', onEnd!);
    signal.removeEventListener('abort', onEnd!);
    if (isReset) this.isDirty = false;
    else this.cut();
    return isReset;
  }
}

const STOPPED = 'sending was stopped before the server had received the whole message';

/** How the attempt ended. */
type Ended = { answer: string } | { error: SmtpError } | { gaveUp: string };

function isAbrupt({ outcome }: MailOutcome): boolean {
  return outcome === 'unreachable' || outcome === 'in-doubt';
}

/**
 * A server may accept a message only after the final dot, which nodemailer sends when all the content has been read
 * (RFC 5321, 4.1.1.4). So a message that was not read to its end was not accepted. One that was read is in doubt if
 * there is no reply.
 */
function judge(
  ended: Ended,
  content: Content,
  isUsed: boolean,
  recipient: string,
): MailOutcome | typeof STALE {
  if ('answer' in ended) {
    const detail = statusLine(ended.answer, recipient);
    // A reply to something else. Without its final dot, nothing is known about the message.
    return content.isHandedOver ? { outcome: 'sent', detail } : { outcome: 'in-doubt', detail };
  }
  if ('gaveUp' in ended) {
    return { outcome: content.isHandedOver ? 'in-doubt' : 'unreachable', detail: ended.gaveUp };
  }
  const { error } = ended;
  const detail = outline(error, recipient);
  const code = error.responseCode ?? 0;
  const isNo = code >= 400 && code <= 599;
  if (content.isHandedOver) return isNo ? refusedBy(code, detail) : { outcome: 'in-doubt', detail };
  if (!isNo) {
    // Nodemailer rejected it without asking the server: too large, or an invalid address.
    const isRefused = error.code === 'EMESSAGE' || error.code === 'EENVELOPE';
    if (isRefused) return { outcome: 'refused', permanent: true, code: null, detail };
  }
  const isClosing = code === 421 || !isNo;
  if (isClosing && isUsed && !content.isBegun) return STALE;
  if (!isNo || ABOUT_THE_LOGIN.includes(code) || (code === 421 && error.command === 'MAIL FROM')) {
    return { outcome: 'unreachable', detail };
  }
  return refusedBy(code, detail);
}

/** 503 means a wrong order of commands, which is not the message's fault. */
function refusedBy(code: number, detail: string): MailOutcome {
  return { outcome: 'refused', permanent: code >= 500 && code !== 503, code, detail };
}

/** Why there is no connection. Only for the operator: it contains names and addresses of the network. */
export function describe(error: unknown): string {
  const { response, message } = error as SmtpError;
  return statusLine(response ?? message);
}

/** The same for the organization that sends the message: the server's reply, or a general reason. */
export function outline(error: unknown, recipient?: string): string {
  const { code, originalCode, response, message } = error as SmtpError;
  if (response) return statusLine(response, recipient);
  // This message contains only the size limit.
  if (code === 'EMESSAGE') return statusLine(message, recipient);
  if (code === 'EENVELOPE') return 'the address of the sender or the recipient is invalid';
  if (code === 'EDNS') return 'the host name of the mail server cannot be resolved';
  if (code === 'EAUTH' || error instanceof NoLogin) return 'the login to the mail server failed';
  if (code === 'ETLS' || /CERT|SSL|TLS/.test(originalCode ?? ''))
    return 'the TLS handshake with the mail server failed';
  if (code === 'ETIMEDOUT') return 'the mail server did not respond in time';
  if (originalCode === 'ECONNREFUSED') return 'the mail server accepts no connections';
  return 'the connection to the mail server ended';
}

class NoLogin extends Error {}

/** A message as nodemailer reads it. Records how far it was read. */
class Content extends Readable {
  private position = 0;
  private wasRead = false;

  constructor(private readonly raw: Buffer) {
    super({ highWaterMark: PIECE });
    // Before nodemailer's own listener, which sends the final dot.
    this.once('end', () => (this.wasRead = true));
  }

  /** Part of it may have been sent. */
  get isBegun(): boolean {
    return this.position > 0;
  }

  /** All of it may have been sent, including the final dot. */
  get isHandedOver(): boolean {
    return this.wasRead;
  }

  /** Unread content is never read after this. */
  stop(): void {
    if (!this.wasRead) this.destroy();
  }

  override _read(): void {
    const piece = this.raw.subarray(this.position, this.position + PIECE);
    this.position += piece.length;
    this.push(piece);
    if (this.position >= this.raw.length) this.push(null);
  }
}
