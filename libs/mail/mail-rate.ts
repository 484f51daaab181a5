import { type LoggerService } from '@nestjs/common';
import { connectRedis, type RedisConnection } from '#libs/rate-limit';

/** Among the keys that the rate limit's user of Redis may use. */
const KEY = 'rate-limit:mail';

/**
 * Each message has its own moment, one after another: who waits for it needs not ask again. The hour is for a clock of
 * Redis's that was set back: no queue is so long.
 */
const RESERVE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local moment = tonumber(redis.call('GET', KEYS[1]) or 0)
if moment < now or moment > now + 3600000000 then moment = now end
local nextOne = moment + tonumber(ARGV[1])
-- Lua's own conversion keeps 14 digits, the microseconds have 16.
redis.call('SET', KEYS[1], string.format('%.0f', nextOne), 'PX', math.ceil((nextOne - now) / 1000) + 1000)
return moment - now
`;

/** The longest that a message waits for Redis's answer, and until Redis is asked again after it had none, in milliseconds. */
const TIMEOUT_MS = 250;
const PAUSE = 1_000;

/**
 * So many messages a second over all instances that share a Redis; in this process alone without one, and while it cannot be
 * used.
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

  /** Takes the next place. @returns in how many milliseconds it begins. */
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
        // Why is told by the rate limit, which uses the same Redis.
        if (!this.isLocal && !this.isClosed) {
          this.logger.warn(
            'Redis is unavailable: until it is back, MAIL_RATE applies to each instance separately, so several instances send more in total.',
          );
        }
        this.isLocal = true;
        this.askAgainAt = performance.now() + PAUSE;
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

  /** It gives up by itself, after a second or two, and is made again by who comes next. */
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
  // Where it comes too late, nobody listens any more.
  answer.catch(() => undefined);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
