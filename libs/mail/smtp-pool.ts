import { type Composed } from './compose.js';
import { type MailServer } from './mail-url.js';
import { type MailOutcome } from './message.js';
import { describe, outline, TIMEOUTS, type Timeouts, SmtpSession, STALE } from './smtp-session.js';

/** As many as servers take without complaint; behind a load balancer a new one also finds a new server. */
const MOST_MESSAGES = 100;

/**
 * Connections to one server, each used for one message after another. Not nodemailer's pool: that sends a message again by
 * itself where a connection ends, and whether it may is what we must know.
 */
export class SmtpPool {
  /** Why the last connection that was to be made was not: for the operator, for it may tell of the network. */
  trouble: string | undefined;
  private readonly idle: SmtpSession[] = [];

  constructor(
    private readonly server: MailServer,
    private readonly timeouts: Timeouts = TIMEOUTS,
  ) {}

  /**
   * As many connections are opened as there are callers at once.
   *
   * @param signal, closing as of `SmtpSession.deliver`.
   * @param onTurn as of `Mailer.send`.
   */
  async send(
    message: Composed,
    signal: AbortSignal,
    closing: AbortSignal,
    onTurn: () => Promise<void>,
  ): Promise<MailOutcome> {
    for (;;) {
      const used = this.idle.pop();
      if (used?.isOver) continue;
      let session = used;
      try {
        session ??= await SmtpSession.open(this.server, this.timeouts, signal);
      } catch (error) {
        if (signal.aborted)
          return { outcome: 'unreachable', detail: 'it was stopped before a connection was made' };
        this.trouble = describe(error);
        return { outcome: 'unreachable', detail: outline(error) };
      }
      await onTurn();
      const result = await session.deliver(message, signal, closing);
      if (!session.isOver) this.keep(session);
      if (result !== STALE) return result;
    }
  }

  /** Connects, logs in and says goodbye. @returns what is wrong, undefined where nothing is. */
  async probe(signal: AbortSignal): Promise<string | undefined> {
    try {
      (await SmtpSession.open(this.server, this.timeouts, signal)).leave();
      return undefined;
    } catch (error) {
      return describe(error);
    }
  }

  close(): void {
    for (const session of this.idle.splice(0)) session.leave();
  }

  private keep(session: SmtpSession): void {
    if (session.uses >= MOST_MESSAGES) return session.leave();
    session.rest();
    this.idle.push(session);
  }
}
