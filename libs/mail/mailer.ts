import { type LoggerService, type OnApplicationShutdown } from '@nestjs/common';
import { setMaxListeners } from 'node:events';
import { Tally } from '#libs/measures';
import { setTimeout as sleep } from 'node:timers/promises';
import { compose } from './compose.js';
import { isSenderAddress } from './mail-address.js';
import { MailFiles } from './mail-files.js';
import { MailRate } from './mail-rate.js';
import { readMailUrl } from './mail-url.js';
import { type MailAddress, type MailMessage, type MailOutcome } from './message.js';
import { SmtpPool } from './smtp-pool.js';
import { type Timeouts } from './smtp-session.js';

export type MailerOptions = {
  /** The server's URL. Without it, messages are written to files. */
  url?: string | undefined;
  directory: string;
  from?: MailAddress | undefined;
  /** The public host name of this server. */
  host?: string | undefined;
  /** The maximum number of concurrent messages and connections. */
  concurrency: number;
  /** Messages per second. Default: unlimited. */
  rate?: number | undefined;
  /** Instances that share this Redis share the rate. */
  redisUrl?: string | undefined;
  /** Changed only by tests. */
  timeouts?: Timeouts;
};

const STOPPED = { outcome: 'unreachable', detail: 'sending was stopped before its turn' } as const;

/**
 * Sends each message to the mail server once. Whatever happens to the server, the network or this process, the outcome never
 * claims more than is certain. The mailer never retries, because only the caller knows which messages may be sent twice.
 */
export class Mailer implements OnApplicationShutdown {
  readonly concurrency: number;
  /** The sender for organizations that have not set their own. */
  readonly defaultFrom: MailAddress | null;
  private readonly fallbackAddress: string;

  /** Messages by outcome. `refused` counts as `rejected` if it is permanent, and as `deferred` otherwise. */
  readonly outcomes = new Tally(['sent', 'deferred', 'rejected', 'unreachable', 'in-doubt']);
  /** Milliseconds since 1970; 0: never. */
  readonly lastAt = { sent: 0, unreachable: 0 };

  private readonly server: SmtpPool | undefined;
  private readonly files: MailFiles;
  private readonly rate: MailRate | undefined;
  /** Oldest first. */
  private readonly underWay = new Map<AbortController, { sending: Promise<unknown>; since: number }>();
  private readonly waiting: (() => void)[] = [];
  private places: number;
  private readonly closing = new AbortController();
  private isAway = false;

  constructor(
    options: MailerOptions,
    private readonly logger: Pick<LoggerService, 'log' | 'warn'>,
  ) {
    const { url, directory, from, host, concurrency, rate, redisUrl, timeouts } = options;
    setMaxListeners(0, this.closing.signal);
    this.concurrency = concurrency;
    this.places = concurrency;
    this.defaultFrom = from ?? null;
    const address = `no-reply@${host}`;
    this.fallbackAddress = isSenderAddress(address) ? address : 'no-reply@localhost.localdomain';
    this.server = url === undefined ? undefined : new SmtpPool(readMailUrl(url), timeouts);
    this.files = new MailFiles(
      directory,
      (file) => void logger.log({ message: 'mail written to a file', file }),
    );
    this.rate = rate === undefined ? undefined : new MailRate(rate, redisUrl, logger);
  }

  /**
   * The sender of an email that must reach its recipient: the organization's own, else the operator's. Without either, an
   * email from this host is better than none.
   *
   * @param name of the organization or this server.
   */
  senderFor(name: string, own: MailAddress | null = null): MailAddress {
    return own ?? this.defaultFrom ?? { name, address: this.fallbackAddress };
  }

  /** Whether we can log in to the server. Sends no message. */
  async isUsable(): Promise<boolean> {
    return (await this.server?.probe(this.closing.signal)) === undefined;
  }

  /**
   * Sends a message. Never rejects because of the message's data, the server or the network.
   *
   * @param signal if it is aborted before any part of the message was sent, nothing is sent. After that it has no effect,
   *   but {@link close} limits the remaining wait to five seconds.
   * @param onTurn awaited after place, rate and connection. If `signal` is aborted during it, nothing is sent.
   */
  async send(
    message: MailMessage,
    signal?: AbortSignal,
    onTurn: () => Promise<void> = () => Promise.resolve(),
  ): Promise<MailOutcome> {
    if (this.closing.signal.aborted || signal?.aborted) return STOPPED;
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    if (signal) {
      // One signal stops any number of messages.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', stop, { once: true });
    }
    const sending = this.sendInTurn(message, stopping.signal, onTurn);
    this.underWay.set(stopping, { sending, since: performance.now() });
    try {
      return await sending;
    } finally {
      this.underWay.delete(stopping);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** The messages of this process that wait for their turn or a reply, and how long the oldest has waited. */
  get load(): { messages: number; oldestSeconds: number } {
    const [oldest] = this.underWay.values();
    const oldestSeconds = oldest ? (performance.now() - oldest.since) / 1_000 : 0;
    return { messages: this.underWay.size, oldestSeconds };
  }

  /** The files to which messages are written; undefined if there is a mail server. */
  get written(): MailFiles | undefined {
    return this.server === undefined ? this.files : undefined;
  }

  /** Stops waiting messages, and resolves when those in flight have ended, after about five seconds at most. */
  async close(): Promise<void> {
    const sending = [...this.underWay.values()].map((one) => one.sending);
    this.closing.abort();
    for (const stopping of this.underWay.keys()) stopping.abort();
    await Promise.allSettled(sending);
    this.server?.close();
    await this.rate?.close();
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  private async sendInTurn(
    message: MailMessage,
    signal: AbortSignal,
    onTurn: () => Promise<void>,
  ): Promise<MailOutcome> {
    if (!(await this.takePlace(signal))) return STOPPED;
    try {
      const composed = await compose(message);
      if ('outcome' in composed) {
        this.count(composed);
        return composed;
      }
      if (this.rate) {
        const milliseconds = await this.rate.reserve();
        if (milliseconds > 0) await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
      }
      if (signal.aborted) return STOPPED;
      const result = await (this.server ?? this.files).send(composed, signal, this.closing.signal, onTurn);
      this.count(result);
      if (!signal.aborted) this.logChange(result);
      return result;
    } finally {
      this.leavePlace();
    }
  }

  /** @returns false if the message was stopped first. */
  private takePlace(signal: AbortSignal): Promise<boolean> | boolean {
    if (this.places > 0) {
      this.places -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const begin = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(true);
      };
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(begin), 1);
        resolve(false);
      };
      this.waiting.push(begin);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  private leavePlace(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.places += 1;
  }

  private count(result: MailOutcome): void {
    const { outcome } = result;
    if (outcome === 'refused') this.outcomes.add(result.permanent ? 'rejected' : 'deferred');
    else this.outcomes.add(outcome);
    if (outcome === 'sent' || outcome === 'unreachable') this.lastAt[outcome] = Date.now();
  }

  /** Logs once when the server becomes unavailable, and once when it is available again. */
  private logChange({ outcome, detail }: MailOutcome): void {
    if (outcome === 'unreachable' && !this.isAway) {
      this.isAway = true;
      const reason = this.server?.problem ?? detail;
      this.logger.warn({ message: 'mail server unavailable: waiting messages will be retried', reason });
    } else if (outcome === 'sent' && this.isAway) {
      this.isAway = false;
      this.logger.log({ message: 'mail server available again' });
    }
  }
}

/** Connects to the server, logs in and quits. @returns the problem, or undefined if there is none. */
export function probeMailServer(url: string, signal: AbortSignal): Promise<string | undefined> {
  return new SmtpPool(readMailUrl(url)).probe(signal);
}
