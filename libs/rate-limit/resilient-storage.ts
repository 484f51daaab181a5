import { type LoggerService, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { MemoryStorage } from './memory-storage.js';
import { RedisStorage } from './redis-storage.js';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** The longest a request waits for Redis, in milliseconds; the last of them are the grace below. */
const PATIENCE = 250;
const GRACE = 20;
const PROBE_INTERVAL = 1_000;
const PROBE = { key: 'probe', limit: Number.MAX_SAFE_INTEGER };

class RedisTooSlow extends Error {
  constructor() {
    super(`no answer within ${PATIENCE} ms`);
  }
}

/**
 * Counts in Redis, and in this process while Redis is unreachable, slow or refuses. After one failure all
 * requests are counted locally at once, without waiting, until a probe succeeds. The probe runs once a second
 * whatever the status, so that `status` is true on an idle instance too. Each change is logged once.
 */
export class ResilientStorage implements WindowStorage, OnApplicationShutdown {
  private readonly shared: RedisStorage;
  private readonly local = new MemoryStorage();
  private readonly timer: NodeJS.Timeout;
  private connectionError?: Error;
  private closed = false;
  private current: 'shared' | 'local' = 'shared';

  /** Owns the connection from now on: {@link onApplicationShutdown} closes it. */
  constructor(
    private readonly redis: Redis,
    private readonly logger: Pick<LoggerService, 'log' | 'warn'>,
  ) {
    this.shared = new RedisStorage(redis);
    redis.on('error', (error: Error) => (this.connectionError = error));
    redis.on('ready', () => (this.connectionError = undefined));
    this.timer = setInterval(() => void this.probe(), PROBE_INTERVAL).unref();
    void this.probe();
  }

  /** Where requests are counted now: in Redis, or in this instance alone. */
  get status(): 'shared' | 'local' {
    return this.current;
  }

  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    return (await this.accept([{ key, limit }], ttl))[0]!;
  }

  /** Never rejects, never takes longer than about 250 ms. */
  async accept(windows: readonly Window[], ttl: number): Promise<StorageRecord[]> {
    if (this.current === 'local') return this.local.accept(windows, ttl);
    try {
      return await inTime(this.shared.accept(windows, ttl));
    } catch (error) {
      this.fallBack(error as Error);
      return this.local.accept(windows, ttl);
    }
  }

  onApplicationShutdown(): void {
    this.closed = true;
    clearInterval(this.timer);
    this.redis.disconnect();
  }

  /** Asks what requests ask, with a write: a PING would call a full or read-only Redis healthy. */
  private async probe(): Promise<void> {
    try {
      await inTime(this.shared.accept([PROBE], PROBE_INTERVAL));
      this.comeBack();
    } catch (error) {
      this.fallBack(error as Error);
      // A connection that lost its other side hangs for minutes before TCP gives it up; a new one is cheap.
      if (error instanceof RedisTooSlow && !this.closed) this.redis.disconnect(true);
    }
  }

  private fallBack(error: Error): void {
    if (this.closed || this.current === 'local') return;
    this.current = 'local';
    this.logger.warn(
      `Redis is unreachable (${this.explain(error)}): this instance limits requests on its own until it is back`,
    );
  }

  /** Without a connection the command's error says only that there is none; the connection's own says why. */
  private explain(error: Error): string {
    if (this.redis.status === 'ready') return error.message;
    // Node's error for a name with several addresses has a code and no message.
    const { message, code } = (this.connectionError ?? {}) as NodeJS.ErrnoException;
    return message || (code ?? 'no connection');
  }

  private comeBack(): void {
    if (this.closed || this.current === 'shared') return;
    this.current = 'shared';
    this.logger.log('Redis is back: all instances share one rate limit again');
  }
}

/**
 * The grace is for this process's own pauses: after a long one the timer and Redis's answer are both due, and
 * Node runs timers first. The answer must not lose for that.
 */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      timer = setTimeout(() => reject(new RedisTooSlow()), GRACE);
    }, PATIENCE - GRACE);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
