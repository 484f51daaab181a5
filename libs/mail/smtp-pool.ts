import { type Composed } from './compose.js';
import { type MailServer } from './mail-url.js';
import { type MailOutcome } from './message.js';
import { describe, outline, TIMEOUTS, type Timeouts, SmtpSession, STALE } from './smtp-session.js';

/** Messages per connection. Servers accept this many, and behind a load balancer, a new connection may reach another server. */
const MOST_MESSAGES = 100;

/**
 * Connections to one server, each used for one message after another. Nodemailer's own pool cannot be used, because it
 * resends a message if a connection ends, even though the server may have accepted it.
 */
export class SmtpPool {
  /** Why the last attempt to connect failed. Only for the operator, because it may reveal details of the network. */
  problem: string | undefined;
  private readonly idle: SmtpSession[] = [];

  constructor(
    private readonly server: MailServer,
    private readonly timeouts: Timeouts = TIMEOUTS,
  ) {}

  /**
   * Sends a message on an idle or a new connection. Each concurrent caller has its own.
   *
   * @param signal, closing see `SmtpSession.deliver`.
   * @param onTurn see `Mailer.send`.
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
          return {
            outcome: 'unreachable',
            detail: 'sending was stopped before the connection was established',
          };
        this.problem = describe(error);
        return { outcome: 'unreachable', detail: outline(error) };
      }
      await onTurn();
      const result = await session.deliver(message, signal, closing);
      if (!session.isOver) this.keep(session);
      if (result !== STALE) return result;
    }
  }

  /** Connects, logs in and quits. @returns the problem, or undefined if there is none. */
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
