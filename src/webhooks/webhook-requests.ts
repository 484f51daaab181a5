import { Injectable } from '@nestjs/common';
import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { EventStore } from '#libs/event-store';
import { Destinations, DestinationNotAllowed } from './destinations.js';
import { secretsAt, signatureOf } from './signatures.js';
import { type ExistingWebhook } from './webhook.js';

/** The time limit from the DNS lookup to the end of the response. */
const TIMEOUT_MS = 10_000;
/** Bytes of a response that are read, and bytes that are stored. */
const MAX_READ_BYTES = 64 * 1024;
const MAX_STORED_BYTES = 1024;
/** How long a connection stays open for the next event, unless the receiver closes it earlier. */
const IDLE_MS = 5_000;

/** Failure reasons that reveal nothing about this machine's network. */
export const DELIVERY_REASONS = {
  notConnected: 'Could not connect to the address, or delivery to it is not allowed.',
  notSecure: 'Could not establish a secure connection: the certificate is not valid for the address.',
  ended: 'The connection closed before a response arrived.',
  late: `No response arrived within ${TIMEOUT_MS / 1_000} seconds.`,
  redirect: 'The endpoint responded with a redirect. Redirects are not followed.',
  refused: 'The endpoint did not respond with a success status (2xx).',
} as const;

export type Attempt = {
  at: Date;
  delivered: boolean;
  /** null if there was no response. */
  statusCode: number | null;
  ms: number;
  /** The beginning of the response. */
  answer: Buffer;
  /** null if delivered. */
  reason: string | null;
};

type Answer = { statusCode: number; answer: Buffer };

@Injectable()
export class WebhookRequests {
  // Destinations are checked when connecting, so connections can be reused.
  private readonly agents = {
    'http:': new HttpAgent({ keepAlive: true, maxFreeSockets: 64, timeout: IDLE_MS }),
    'https:': new HttpsAgent({ keepAlive: true, maxFreeSockets: 64, timeout: IDLE_MS }),
  };
  private readonly inFlight = new Set<ClientRequest>();
  private isEnded = false;

  constructor(
    private readonly store: EventStore,
    private readonly destinations: Destinations,
  ) {}

  /** @returns the result; undefined if the server is stopping, so that the result is unknown. */
  async send(
    webhookId: string,
    webhook: ExistingWebhook,
    message: { id: string; body: string },
  ): Promise<Attempt | undefined> {
    const at = new Date();
    const start = performance.now();
    const ended = (rest: Pick<Attempt, 'delivered' | 'statusCode' | 'answer' | 'reason'>): Attempt => ({
      at,
      ms: Math.round(performance.now() - start),
      ...rest,
    });
    try {
      const { statusCode, answer } = await this.post(webhookId, webhook, message, at);
      const delivered = statusCode >= 200 && statusCode < 300;
      const isRedirect = statusCode >= 300 && statusCode < 400;
      const reason = delivered ? null : isRedirect ? DELIVERY_REASONS.redirect : DELIVERY_REASONS.refused;
      return ended({ delivered, statusCode, answer, reason });
    } catch (error) {
      if (this.isEnded) return undefined;
      return ended({ delivered: false, statusCode: null, answer: Buffer.alloc(0), reason: reasonOf(error) });
    }
  }

  /** Aborts requests in progress. Their results are unknown. */
  end(): void {
    this.isEnded = true;
    for (const request of this.inFlight) request.destroy(new Error('The program stops.'));
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  private async post(
    webhookId: string,
    webhook: ExistingWebhook,
    { id, body }: { id: string; body: string },
    at: Date,
  ): Promise<Answer> {
    // Checked again: the rules may have been different when the address was set.
    const url = this.destinations.read(webhook.url);
    if (!url || this.isEnded) throw new DestinationNotAllowed();
    const timestamp = Math.floor(at.getTime() / 1_000);
    const secrets = secretsAt(this.store.keyring, webhookId, webhook, at);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'advocacy-webhooks/1',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureOf(secrets, { id, timestamp, body }),
    };
    const endAt = performance.now() + TIMEOUT_MS;
    for (;;) {
      const connection = { isReused: false };
      try {
        return await this.exchange(url, headers, body, endAt, connection);
      } catch (error) {
        // The receiver has just closed an idle connection. That is not a failure.
        if (!connection.isReused || isLate(error) || this.isEnded) throw error;
      }
    }
  }

  /** @param connection `isReused` is set if the request used an idle connection. */
  private exchange(
    url: URL,
    headers: Record<string, string | number>,
    body: string,
    endAt: number,
    connection: { isReused: boolean },
  ): Promise<Answer> {
    const { promise, resolve, reject } = withResolvers<Answer>();
    const { lookup } = this.destinations;
    const agent = this.agents[url.protocol as 'http:' | 'https:'];
    const make = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = make(url, { method: 'POST', headers, agent, lookup });
    this.inFlight.add(request);
    const timer = setTimeout(() => request.destroy(new Late()), endAt - performance.now());
    // A response that has begun counts, even if its rest is missing.
    let finish: (() => void) | undefined;
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      finish = () =>
        resolve({
          statusCode: response.statusCode!,
          answer: Buffer.concat(chunks).subarray(0, MAX_STORED_BYTES),
        });
      response.on('data', (chunk: Buffer) => {
        if (length < MAX_STORED_BYTES) chunks.push(chunk);
        length += chunk.length;
        if (length >= MAX_READ_BYTES) response.destroy();
      });
      response.on('end', finish).on('error', finish).on('close', finish);
    });
    request.on('error', (error) => {
      connection.isReused = request.reusedSocket;
      if (finish) finish();
      else reject(error);
    });
    request.on('close', () => {
      clearTimeout(timer);
      this.inFlight.delete(request);
      finish?.();
      reject(new Error('The connection ended.'));
    });
    request.end(body);
    return promise;
  }
}

class Late extends Error {}

function isLate(error: unknown): boolean {
  return error instanceof Late;
}

function reasonOf(error: unknown): string {
  if (isLate(error)) return DELIVERY_REASONS.late;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO/.test(code)) return DELIVERY_REASONS.notSecure;
  const isBegun = !(error instanceof DestinationNotAllowed) && !['connect', 'getaddrinfo'].includes(syscall);
  // An AggregateError means that every resolved address failed.
  return isBegun && !(error instanceof AggregateError)
    ? DELIVERY_REASONS.ended
    : DELIVERY_REASONS.notConnected;
}

/** `Promise.withResolvers`, which Node.js 20 lacks. */
function withResolvers<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<Value>((onValue, onError) => ([resolve, reject] = [onValue, onError]));
  return { promise, resolve, reject };
}
