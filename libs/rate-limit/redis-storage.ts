import { Redis, type Result } from 'ioredis';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** What the script answers for each key, one after another; the last two are microseconds. */
type Counted = [isBlocked: number, before: number, untilOldestLeaves: number, untilAccepted: number];

declare module 'ioredis' {
  interface RedisCommander<Context> {
    acceptInWindows(
      numberOfKeys: number,
      ...keysThenWindowAndLimits: (string | number)[]
    ): Result<number[], Context>;
  }
}

/**
 * The accepted requests of one caller are a list of microseconds, oldest first. A list and not a sorted set: two
 * requests of one microsecond are two elements, every step is O(1), and it takes a third of the memory.
 */
const ACCEPT_IN_WINDOWS = `
local window = ARGV[1] * 1000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Redis's clock is no monotonic one, and a replica that takes over has its own. A small step back is waited out;
-- after a big one the list says nothing any more, and keeping it would block the caller until the time is reached.
for _, accepted in ipairs(KEYS) do
  local newest = tonumber(redis.call('LINDEX', accepted, -1))
  if newest and newest > now + window then
    redis.call('DEL', accepted)
  elseif newest and newest > now then
    now = newest
  end
end

local oldest, before, blocked = {}, {}, false
for i, accepted in ipairs(KEYS) do
  oldest[i] = tonumber(redis.call('LINDEX', accepted, 0))
  while oldest[i] and oldest[i] <= now - window do
    redis.call('LPOP', accepted)
    oldest[i] = tonumber(redis.call('LINDEX', accepted, 0))
  end
  before[i] = redis.call('LLEN', accepted)
  blocked = blocked or before[i] >= tonumber(ARGV[i + 1])
end

local answer = {}
for i, accepted in ipairs(KEYS) do
  local limit, untilAccepted = tonumber(ARGV[i + 1]), 0
  if not blocked then
    -- Lua's own conversion keeps 14 digits, the microseconds have 16.
    redis.call('RPUSH', accepted, string.format('%.0f', now))
    -- Twice the window: the key's expiry is counted in milliseconds and must not come before the last element's.
    redis.call('PEXPIRE', accepted, ARGV[1] * 2)
  elseif before[i] >= limit then
    -- Counted from the end: a limit that was lowered meanwhile frees a place only when several have left.
    local frees = tonumber(redis.call('LINDEX', accepted, before[i] - limit)) or now
    untilAccepted = frees + window - now
  end
  table.insert(answer, before[i] >= limit and 1 or 0)
  table.insert(answer, before[i])
  table.insert(answer, (oldest[i] or now) + window - now)
  table.insert(answer, untilAccepted)
end
return answer
`;

/**
 * Counts in Redis 7 or newer, so that any number of instances share one budget: an exact sliding window, never
 * more than `limit` accepted requests in any `ttl` milliseconds of Redis's clock. Each request is one atomic
 * script, however many windows it is counted in. Rejects when Redis does; {@link ResilientStorage} is the one that
 * copes.
 */
export class RedisStorage implements WindowStorage {
  constructor(
    private readonly redis: Redis,
    private readonly prefix = 'rate-limit:',
  ) {
    redis.defineCommand('acceptInWindows', { lua: ACCEPT_IN_WINDOWS });
  }

  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    return (await this.accept([{ key, limit }], ttl))[0]!;
  }

  async accept(windows: readonly Window[], ttl: number): Promise<StorageRecord[]> {
    const answer = await this.redis.acceptInWindows(
      windows.length,
      ...windows.map(({ key }) => this.prefix + key),
      ttl,
      ...windows.map(({ limit }) => limit),
    );
    return windows.map((_, n) => {
      const [isBlocked, before, untilOldestLeaves, untilAccepted] = answer.slice(n * 4) as Counted;
      return {
        totalHits: before + 1,
        timeToExpire: Math.ceil(untilOldestLeaves / 1_000_000),
        isBlocked: isBlocked === 1,
        timeToBlockExpire: Math.ceil(untilAccepted / 1_000_000),
      };
    });
  }
}

/**
 * A connection as the rate limiter wants it: every command fails at once while Redis is away, and reconnecting
 * goes on for ever, about once a second. Resolves when the first attempt has ended, well or not.
 *
 * @throws when the URL is not one of Redis; the message does not repeat it, for it may hold a password
 */
export async function connectRedis(url: string): Promise<Redis> {
  if (!/^rediss?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new Error('The Redis URL must look like redis://[user:password@]host[:port][/database].');
  }
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // Auto-pipelining keeps one pipeline under way at a time and costs more than the writes it saves: at 64
    // callers 40,700 requests/s with p99 12 ms, without it 41,700 with p99 4 ms, and 21 instead of 25 µs of CPU.
    enableAutoPipelining: false,
    connectTimeout: 1_000,
    // A half-dead connection gets this long to say goodbye before it is cut.
    disconnectTimeout: 250,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
    // Who uses the connection probes it with its own script; INFO would wait for ever on a hung server.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  // Without a listener ioredis prints every failed attempt. The commands' errors tell the same, once.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}
