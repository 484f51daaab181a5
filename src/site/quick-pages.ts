import { Injectable } from '@nestjs/common';
import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { DatabaseMonitor, RequestCounts } from '#libs/operations';
import { answerHeaders } from '#libs/rpc';

/** What is the same for everybody who asks for it in this second. `madeAt`: of `performance.now()`. */
export type SharedAnswer = { headers: Readonly<Record<string, string>>; body: Buffer; madeAt: number };

/** Milliseconds. */
const KEPT_MS = 1_000;
/** As long as the database is in trouble, for so long: nothing can be changed then that a page would have to show. */
const KEPT_IN_TROUBLE_MS = 10 * 60_000;
/** Then all are forgotten. */
const MOST = 1_000;
/** Of one turn of the event loop: a millisecond. */
const AT_ONCE = 16;

type Known = { headers: OutgoingHttpHeaders; body: Buffer; name: string; until: number };

/**
 * Answers that everybody gets, by their addresses, sent before anything else is asked: a petition has a hundred thousand readers on its
 * biggest day, and who signs waits behind each of them. They are counted as every request is, and logged once a second by who made them:
 * a line for each reader would cost more than the page.
 */
@Injectable()
export class QuickPages {
  private readonly known = new Map<string, Known>();
  private signing = 0;
  private readonly waiting: { response: ServerResponse; known: Known }[] = [];

  constructor(
    private readonly counts: RequestCounts,
    private readonly watch: DatabaseMonitor,
  ) {}

  /** @param name as which it is counted. */
  keep(url: string, name: string, { headers, body, madeAt }: SharedAnswer): void {
    const until = madeAt + KEPT_MS;
    if (until <= performance.now()) return;
    if (this.known.size >= MOST) this.known.clear();
    const all = { ...answerHeaders, ...headers, 'Content-Length': body.length };
    this.known.set(url, { headers: all, body, name, until });
  }

  /** @returns whether it has answered. */
  readonly answer = ({ method, url = '' }: IncomingMessage, response: ServerResponse): boolean => {
    const known = method === 'GET' ? this.known.get(url) : undefined;
    if (!known) return false;
    const now = performance.now();
    if (now >= known.until && (this.watch.trouble === undefined || now >= known.until + KEPT_IN_TROUBLE_MS)) {
      // It stays until there is another, in case the database gets into trouble; not one that is moved or deleted.
      response.once('close', () => {
        if (response.statusCode > 200 && response.statusCode < 500) this.known.delete(url);
      });
      return false;
    }
    if (this.signing === 0) this.send(response, known);
    else if (this.waiting.push({ response, known }) === 1) setImmediate(this.sendSome);
    return true;
  };

  /** Lets readers wait a little while somebody signs, so that it is not they who wait for all of them. */
  async yieldToWrites<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    this.signing += 1;
    try {
      return await work();
    } finally {
      this.signing -= 1;
    }
  }

  private send(response: ServerResponse, { headers, body, name }: Known): void {
    response.writeHead(200, headers);
    response.end(body);
    this.counts.add(name, 200, 0);
  }

  /** Some at a time, and whoever signs has their turn in between. */
  private readonly sendSome = (): void => {
    for (const { response, known } of this.waiting.splice(0, AT_ONCE)) {
      if (!response.destroyed) this.send(response, known);
    }
    if (this.waiting.length > 0) setImmediate(this.sendSome);
  };
}
