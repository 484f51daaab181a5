import { type MailAddress, type MailMessage, type MailOutcome } from './message.js';

/** Hands messages to the mail server. */
export class Mailer {
  /** The most messages that are under way at once. */
  readonly concurrency: number = 10;
  /** Who sends where the organization says nothing else. */
  readonly defaultFrom: MailAddress | null = null;

  /** Never rejects for what the server or the network does. */
  send(_message: MailMessage, _signal?: AbortSignal): Promise<MailOutcome> {
    return Promise.resolve({ outcome: 'unreachable', detail: 'no mail can be sent yet' });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
