import { Injectable } from '@nestjs/common';
import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { RequestCounts } from '#libs/operations';
import { answerHeaders } from '#libs/rpc';

/** What is the same for everybody who asks for it in this second. `madeAt`: of `performance.now()`. */
export type SharedAnswer = { headers: Readonly<Record<string, string>>; body: Buffer; madeAt: number };

/** Milliseconds. */
const KEPT_MS = 1_000;
/** Then all are forgotten. */
const MOST = 1_000;

/**
 * Answers that everybody gets, by their addresses, sent before anything else is asked: a petition has a hundred thousand readers on its
 * biggest day, and who signs waits behind each of them. They are counted as every request is, and logged once a second by who made them:
 * a line for each reader would cost more than the page.
 */
@Injectable()
export class QuickPages {
  private readonly known = new Map<
    string,
    { headers: OutgoingHttpHeaders; body: Buffer; name: string; until: number }
  >();

  constructor(private readonly counts: RequestCounts) {}

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
    if (performance.now() >= known.until) {
      this.known.delete(url);
      return false;
    }
    response.writeHead(200, known.headers);
    response.end(known.body);
    this.counts.add(known.name, 200, 0);
    return true;
  };
}
