import { type LoggerService, type OnApplicationShutdown } from '@nestjs/common';
import { Cluster, ReplyError } from 'ioredis';
import { MemoryStorage } from './memory-storage.js';
import { IS_CLUSTER } from './redis-connection.js';
import { RedisStorage } from './redis-storage.js';
import { type RedisConnection, redisIncidentOf } from './redis-incident.js';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** The longest that a request waits for Redis, in milliseconds, including the grace below. */
const TIMEOUT = 250;
const GRACE = 20;
const PROBE_INTERVAL = 1_000;
/** If Redis rejects commands again within this time after its return, more probes must succeed the next time. */
const SOON = 60_000;
const MOST_PROBES = 64;

/** Errors of a cluster's node to a client that does not know about the cluster. */
const ANSWERS_OF_A_CLUSTER = /^(MOVED|ASK|CROSSSLOT|CLUSTERDOWN) /;

class RedisTooSlow extends Error {
  constructor() {
    super(`no response within ${TIMEOUT} ms`);
  }
}

/**
 * Counts in Redis, or in this process while Redis is unavailable, slow or rejects commands. After a failure,
 * all requests are counted locally without waiting, until a probe succeeds. The probe runs once a second in any
 * state, so that `status` is correct on an idle instance too. Each change is logged once. If Redis rejects
 * commands again within a minute, like one that is nearly full, twice as many probes must succeed the next
 * time.
 */
export class ResilientStorage implements WindowStorage, OnApplicationShutdown {
  private readonly shared: RedisStorage;
  private readonly local = new MemoryStorage();
  private readonly timer: NodeJS.Timeout;
  private closed = false;
  private lost = 0;
  /** Whether Redis is not of the kind that its URL states. */
  private isWrong = false;
  private current: 'shared' | 'local' = 'shared';
  private backAt = -Infinity;
  private probesWanted = 1;
  private probesDone = 0;

  /** Takes over the connection, which {@link onApplicationShutdown} closes. */
  constructor(
    private readonly redis: RedisConnection,
    private readonly logger: Pick<LoggerService, 'log' | 'warn'>,
  ) {
    this.shared = new RedisStorage(redis);
    this.timer = setInterval(() => void this.probe(), PROBE_INTERVAL).unref();
    void this.probe();
  }

  /** Whether requests are counted in Redis, or only in this instance. */
  get status(): 'shared' | 'local' {
    return this.current;
  }

  /** How often the connection to Redis was lost. */
  get fallbacks(): number {
    return this.lost;
  }

  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    return (await this.accept([{ key, limit }], ttl))[0]!;
  }

  /** Never rejects, and takes at most about 250 ms. */
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

  private async probe(): Promise<void> {
    try {
      await inTime(this.shared.probe());
      this.comeBack();
    } catch (error) {
      this.fallBack(error as Error);
      // A connection whose server is lost hangs for minutes until TCP detects that. A new one is cheap.
      if (error instanceof RedisTooSlow && !this.closed) this.redis.disconnect(true);
    }
  }

  private fallBack(error: Error): void {
    if (this.closed) return;
    const isWrong = !(this.redis instanceof Cluster) && ANSWERS_OF_A_CLUSTER.test(error.message);
    if (isWrong && !this.isWrong) {
      // Redis was unavailable at the start, so its kind could not be checked.
      this.logger.warn(
        `This instance applies rate limits on its own: ${IS_CLUSTER.what}. ${IS_CLUSTER.advice}`,
      );
    }
    this.probesDone = 0;
    if (this.current === 'shared') {
      this.lost += 1;
      const isSoon = performance.now() - this.backAt < SOON;
      this.probesWanted =
        isSoon && error instanceof ReplyError ? Math.min(2 * this.probesWanted, MOST_PROBES) : 1;
    }
    if (!isWrong && this.current === 'shared') {
      const { what, said, advice } = redisIncidentOf(this.redis, error);
      const reason = said === undefined ? what : `${what}: ${said}`;
      this.logger.warn(
        `Redis is unavailable (${reason}): until it is back, this instance applies rate limits on its own. ${advice}`,
      );
    }
    this.isWrong ||= isWrong;
    this.current = 'local';
  }

  private comeBack(): void {
    if (this.closed || this.current === 'shared') return;
    this.probesDone += 1;
    if (this.probesDone < this.probesWanted) return;
    this.current = 'shared';
    this.backAt = performance.now();
    // An object, because the logger treats texts with a context as Nest's own and logs them at `debug`.
    this.logger.log({ message: 'Redis is available again: all instances share one rate limit' });
  }
}

/**
 * The grace allows for pauses of this process. After a long one, timer and reply are both due, and Node.js runs
 * timers first. The reply must still win.
 */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      timer = setTimeout(() => reject(new RedisTooSlow()), GRACE);
    }, TIMEOUT - GRACE);
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
