import { setTimeout as sleep } from 'node:timers/promises';
import { HASH, MOST_SUCCESSIONS, type Succession, SUCCESSION, Tree } from '#libs/verify';
import { type ReadSubtree } from '../compare.js';
import { fetchAnswer, fetchChunks, type HttpAnswer, NotAnswered } from '../fetch-answer.js';

/** Hashes per tile, and levels of the tree that a tile spans: docs/spec/history-format.md, "Tiles". */
const TILE_WIDTH = 256;
const LEVELS_A_TILE = 8;
/** A page of this length stays below the size limit of a response. */
const SUCCESSIONS_A_PAGE = 50;
/** Larger than any tile, and than any note with many signatures. */
const LARGEST_ANSWER = 64 * 1024;
const TIMEOUT_MS = 20_000;
/** For the whole register. */
const REGISTER_TIMEOUT_MS = 3_600_000;
/** The server rejects requests above the rate limit and returns when to retry. */
const MOST_TRIES = 5;
const LONGEST_WAIT_S = 10;

type Events = {
  data: { position: number; data: Omit<Succession, 'position'> }[];
  pagination: { hasMore: boolean; cursor: string };
};

/** Reads an organization's log from a running server, over `/log/…`. Trusts nothing it receives. */
export class LogClient {
  private readonly origin: string;
  private readonly prefix: string;
  private readonly headers: Record<string, string>;

  /** @param url the server's, such as `https://api.example.org`. */
  constructor(
    url: string,
    organizationId: string,
    apiKey?: string,
    private readonly signal?: AbortSignal,
  ) {
    this.origin = url.replace(/\/+$/, '');
    this.prefix = `${this.origin}/log/${organizationId}/`;
    this.headers = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
  }

  /** The note that the server shows now. @throws NotAnswered */
  async checkpoint(): Promise<string> {
    return (await this.ask(`${this.prefix}checkpoint`)).toString('utf8');
  }

  /**
   * The key rotations in the history. The server returns them only to clients with an API key.
   *
   * @throws NotAnswered
   */
  async successions(): Promise<Succession[]> {
    const found: Succession[] = [];
    try {
      for (let after: string | null = '0'; after !== null && found.length < MOST_SUCCESSIONS;) {
        const query = new URLSearchParams({ type: SUCCESSION, limit: String(SUCCESSIONS_A_PAGE), after });
        const answer = await this.ask(`${this.origin}/v1/history.list-events?${query.toString()}`);
        const { data, pagination } = JSON.parse(answer.toString('utf8')) as Events;
        found.push(
          ...data.map(({ position, data: { from, to, signature } }) => ({ position, from, to, signature })),
        );
        after = pagination.hasMore ? pagination.cursor : null;
      }
    } catch (error) {
      this.signal?.throwIfAborted();
      throw new NotAnswered(
        `the key has not signed the checkpoint, and its successors cannot be looked up: ${(error as Error).message}`,
      );
    }
    return found;
  }

  /** Exports the register's events after this position. @throws NotAnswered */
  registerAfter(position: number): AsyncIterable<Uint8Array> {
    const { headers, signal } = this;
    const address = `${this.origin}/v1/history.export-events?register=true&after=${position}`;
    return fetchChunks(address, { headers }, { timeoutMs: REGISTER_TIMEOUT_MS, signal }, ({ status }) => {
      if (status !== 200) throw new NotAnswered(`${address} returned status ${status}`);
    });
  }

  /** Reads subtrees of the tree with `size` leaves. Each tile is fetched once. */
  subtreesOf(size: number): ReadSubtree {
    const tiles = new Map<string, Promise<Buffer>>();
    return async (level, index) => {
      const tileLevel = Math.floor(level / LEVELS_A_TILE);
      const width = 2 ** (level % LEVELS_A_TILE);
      const first = index * width;
      const tileIndex = Math.floor(first / TILE_WIDTH);
      const path = tilePath(tileLevel, tileIndex, size);
      let tile = tiles.get(path);
      if (!tile) tiles.set(path, (tile = this.tile(path)));
      const start = (first % TILE_WIDTH) * HASH;
      return combine((await tile).subarray(start, start + width * HASH));
    };
  }

  private async tile(path: string): Promise<Buffer> {
    const address = this.prefix + path;
    const hashes = await this.ask(address);
    const [, width = TILE_WIDTH] = /\.p\/(\d+)$/.exec(path) ?? [];
    if (hashes.length === Number(width) * HASH) return hashes;
    throw new NotAnswered(`${address} has ${hashes.length} bytes instead of ${width} hashes`);
  }

  private async ask(address: string): Promise<Buffer> {
    for (let tries = 1; ; tries += 1) {
      const { status, headers, body } = await this.fetch(address);
      if (status === 200) return body;
      const wait = Number(headers.get('retry-after') ?? NaN);
      const isBusy = [429, 503].includes(status) && wait >= 0;
      if (!isBusy || tries === MOST_TRIES) {
        throw new NotAnswered(`${address} returned status ${status}${reasonIn(body)}`);
      }
      await sleep(1_000 * Math.min(Math.max(wait, 1), LONGEST_WAIT_S), undefined, { signal: this.signal });
    }
  }

  private fetch(address: string): Promise<HttpAnswer> {
    const { headers, signal } = this;
    return fetchAnswer(address, { headers }, { timeoutMs: TIMEOUT_MS, mostBytes: LARGEST_ANSWER, signal });
  }
}

/** `tile/<L>/<N>`, with `.p/<W>` if a tree of this size does not fill the tile (C2SP tlog-tiles). */
export function tilePath(level: number, index: number, size: number): string {
  const width = Math.floor(size / TILE_WIDTH ** level) - index * TILE_WIDTH;
  return `tile/${level}/${indexPath(index)}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
}

/** 1234067 is `x001/x234/067`. */
function indexPath(index: number): string {
  const last = String(index % 1_000).padStart(3, '0');
  return index < 1_000 ? last : `${indexPath(Math.floor(index / 1_000)).replace(/(\d{3})$/, 'x$1')}/${last}`;
}

/** The root of a row of 2^n hashes. */
function combine(hashes: Buffer): Uint8Array {
  const tree = new Tree();
  for (let at = 0; at < hashes.length; at += HASH) tree.append(hashes.subarray(at, at + HASH));
  return tree.root();
}

/** The message of one of our error bodies, in one line. Other bodies are not repeated. */
function reasonIn(body: Buffer): string {
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { error?: { message?: unknown } };
    const message = error?.message;
    return typeof message === 'string' && /^[\x20-\x7e’]{1,300}$/.test(message) ? ` (${message})` : '';
  } catch {
    return '';
  }
}
