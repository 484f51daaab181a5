import { type LoggerService } from '@nestjs/common';
import { connectRedis, type RedisConnection } from '#libs/rate-limit';

/** With the prefix that the Redis user of the rate limit may access. */
const KEY = 'rate-limit:mail';

/**
 * Reserves the next moment for a message, so that it can wait without asking again. A reservation more than an hour ahead
 * means that the clock of Redis was set back, because no queue is that long.
 */
const RESERVE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local moment = tonumber(redis.call('GET', KEYS[1]) or 0)
if moment < now or moment > now + 3600000000 then moment = now end
local nextOne = moment + tonumber(ARGV[1])
-- Lua's own conversion keeps 14 digits. Microseconds have 16.
redis.call('SET', KEYS[1], string.format('%.0f', nextOne), 'PX', math.ceil((nextOne - now) / 1000) + 1000)
return moment - now
`;

/** How long a message waits for Redis, and the pause before the next attempt after a failure. */
const TIMEOUT_MS = 250;
const PAUSE_MS = 1_000;

/**
 * Limits the messages per second of all instances that share a Redis. Without Redis, and while it is unavailable, limits only
 * those of this process.
 */
export class MailRate {
  private readonly interval: number;
  private connecting: Promise<RedisConnection> | undefined;
  private next = 0;
  private askAgainAt = 0;
  private isLocal = false;
  private isClosed = false;

  constructor(
    perSecond: number,
    private readonly redisUrl: string | undefined,
    private readonly logger: Pick<LoggerService, 'log' | 'warn'>,
  ) {
    this.interval = 1_000_000 / perSecond;
  }

  /** Reserves the next moment. @returns how many milliseconds to wait for it. */
  async reserve(): Promise<number> {
    if (this.redisUrl !== undefined && performance.now() >= this.askAgainAt) {
      try {
        const redis = await this.connect(this.redisUrl);
        const microseconds = Number(await inTime(redis.eval(RESERVE, 1, KEY, this.interval)));
        if (this.isLocal)
          this.logger.log({ message: 'Redis is available again: all instances share one mail rate' });
        this.isLocal = false;
        return microseconds / 1_000;
      } catch {
        // The rate limit uses the same Redis and logs the reason.
        if (!this.isLocal && !this.isClosed) {
          this.logger.warn(
            'Redis is unavailable: until it is back, MAIL_RATE applies to each instance separately, so several instances send more in total.',
          );
        }
        this.isLocal = true;
        this.askAgainAt = performance.now() + PAUSE_MS;
      }
    }
    const now = performance.now();
    const moment = Math.max(now, this.next);
    this.next = moment + this.interval / 1_000;
    return moment - now;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    (await this.connecting?.catch(() => undefined))?.disconnect();
  }

  /** A failed attempt ends by itself after a second or two. The next caller tries again. */
  private async connect(redisUrl: string): Promise<RedisConnection> {
    this.connecting ??= connectRedis(redisUrl);
    try {
      return await this.connecting;
    } catch (error) {
      this.connecting = undefined;
      throw error;
    }
  }
}

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  });
  // A late rejection must not be unhandled.
  answer.catch(() => undefined);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
