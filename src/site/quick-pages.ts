import { Injectable } from '@nestjs/common';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { DatabaseMonitor, RequestCounts } from '#libs/operations';
import { languageOf } from '#libs/pages';
import { answerHeaders, shared } from '#libs/rpc';

/** A response that is the same for everyone within a second. `madeAt`: from `performance.now()`. */
export type SharedAnswer = {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  madeAt: number;
  /** Its language, and all languages in which it exists, if it depends on the browser's. */
  language?: string;
  languages?: readonly string[];
};

const CACHE_MS = 1_000;
/** How long pages stay cached while the database is unavailable. Their content cannot change during that time. */
const CACHE_WHILE_DOWN_MS = 10 * 60_000;
/**
 * How much longer the others get the previous page while one reader waits for the next one. On a busy machine, that takes seconds.
 * Creating a page costs ten times as much as sending it.
 */
const RENEWAL_MS = 9_000;
/** At this size, the cache is cleared. */
const MAX_CACHED = 1_000;
/**
 * Readers served per turn of the event loop while someone signs. With 16, 256 readers get 2.6 times as many pages, but 64 people send
 * 0.82 times as many forms as without readers. With 2, 0.95 times.
 */
const BATCH = 2;

type Known = {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  name: string;
  until: number;
  /** Whether a reader already waits for the next one. */
  isRenewed: boolean;
};

/**
 * Caches responses by address and sends them before anything else runs. A petition can have a hundred thousand readers on its biggest
 * day, and people who sign wait behind each of them. Requests are counted as usual but logged once per second, because a line per
 * reader would cost more than the page.
 */
@Injectable()
export class QuickPages {
  private readonly known = new Map<string, Known>();
  /** The languages of addresses whose response depends on them. They are cached once for each. */
  private readonly languages = new Map<string, readonly string[]>();
  private signing = 0;
  private readonly waiting: { response: ServerResponse; known: Known }[] = [];

  constructor(
    private readonly counts: RequestCounts,
    private readonly watch: DatabaseMonitor,
  ) {}

  /** @param name its name in metrics. */
  keep(url: string, name: string, { headers, body, madeAt, language, languages }: SharedAnswer): void {
    const until = madeAt + CACHE_MS;
    if (this.known.size >= MAX_CACHED) {
      this.known.clear();
      this.languages.clear();
    }
    if (languages) this.languages.set(url, languages);
    else this.languages.delete(url);
    const all = { ...answerHeaders, ...headers, 'Content-Length': String(body.length) };
    this.known.set(languages ? `${url} ${language}` : url, {
      headers: all,
      body,
      name,
      until,
      isRenewed: false,
    });
  }

  /** @returns whether it sent a response. */
  readonly answer = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method, url = '' } = request;
    const languages = this.languages.get(url);
    const key = languages ? `${url} ${languageOf(request, languages)}` : url;
    const known = method === 'GET' ? this.known.get(key) : undefined;
    if (!known) return false;
    const now = performance.now();
    const longer = this.watch.problem !== undefined ? CACHE_WHILE_DOWN_MS : known.isRenewed ? RENEWAL_MS : 0;
    if (now >= known.until + longer) {
      known.isRenewed = true;
      // Keeps the page until it is replaced, in case the database becomes unavailable. Removes moved and deleted pages.
      response.once('close', () => {
        known.isRenewed = false;
        if (response.statusCode > 200 && response.statusCode < 500) this.known.delete(key);
      });
      return false;
    }
    if (this.signing === 0) this.send(response, known);
    else if (this.waiting.push({ response, known }) === 1) setImmediate(this.sendSome);
    return true;
  };

  /** Delays readers briefly while someone signs, so that the signer does not wait for all readers. */
  async yieldToWrites<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    this.signing += 1;
    try {
      return await work();
    } finally {
      this.signing -= 1;
    }
  }

  private send(response: ServerResponse, { name, ...known }: Known): void {
    const { headers, body } = shared(response.req, known.headers, known.body);
    response.writeHead(200, headers);
    response.end(body);
    this.counts.add(name, 200, 0);
  }

  /** Serves readers in small batches, so that signers get their turn in between. */
  private readonly sendSome = (): void => {
    for (const { response, known } of this.waiting.splice(0, BATCH)) {
      if (!response.destroyed) this.send(response, known);
    }
    if (this.waiting.length > 0) setImmediate(this.sendSome);
  };
}
