import { Cluster, Command, type Result } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { type RedisConnection } from './redis-incident.js';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** The script's results for each key, one after another. The last two are in microseconds. */
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
 * The accepted requests of a caller are a list of microseconds, oldest first. A list has advantages over a
 * sorted set: two requests in the same microsecond are two elements, every step is O(1), and it takes a third
 * of the memory.
 */
const ACCEPT_IN_WINDOWS = `
local window = ARGV[1] * 1000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Redis's clock is not monotonic, and a replica that takes over has its own. After a small step back, the newest
-- time counts as the current one. After a large one, the list is useless and would block the caller, so it is deleted.
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
    -- Lua's own conversion keeps 14 digits. Microseconds have 16.
    redis.call('RPUSH', accepted, string.format('%.0f', now))
    -- Twice the window: expiry is in milliseconds, and the key must not expire before its last element.
    redis.call('PEXPIRE', accepted, ARGV[1] * 2)
  elseif before[i] >= limit then
    -- Counted from the end: after the limit is lowered, several requests must leave before a place is free.
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

/** The window of probes, in milliseconds. */
const PROBE_TTL = 1_000;
const PROBE_LIMIT = Number.MAX_SAFE_INTEGER;
/** The number of names tried to find one for each master of a cluster. Enough for 1,000 masters. */
const MOST_PROBE_GROUPS = 16_384;

/**
 * Counts in Redis 6.2 or newer, so that any number of instances share one budget. The sliding window is exact: never more
 * than `limit` accepted requests in any `ttl` milliseconds of Redis's clock. Each request runs one atomic script, however
 * many windows it counts in. Rejects if Redis fails; {@link ResilientStorage} handles that.
 *
 * On a single server, keys have the names of version 0.2.0, whose instances count the same callers. In a cluster, which that
 * version did not support, the group precedes the name as a hash tag.
 */
export class RedisStorage implements WindowStorage {
  constructor(
    private readonly redis: RedisConnection,
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
      ...windows.map((window) => this.nameOf(window)),
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

  /**
   * Runs the script like a request of a new caller. A PING would succeed on a full or read-only Redis. So would
   * the script with an existing key, because a script may replace what it removes from a full Redis. In a
   * cluster, every master is probed, and so are slots without a master. So success on one node does not hide
   * the failure of another.
   */
  async probe(): Promise<void> {
    const key = `probe:${randomUUID()}`;
    if (!(this.redis instanceof Cluster)) {
      // Two keys in different slots. A single server accepts both, but a node of a cluster always rejects them (CROSSSLOT).
      const windows = [key, `${key}:twin`].map((name) => ({ key: name, limit: PROBE_LIMIT }));
      await this.accept(windows, PROBE_TTL);
      return;
    }
    const groups = groupsForAll(this.redis);
    await Promise.all(groups.map((group) => this.accept([{ key, group, limit: PROBE_LIMIT }], PROBE_TTL)));
  }

  private nameOf({ key, group = key }: Window): string {
    if (!(this.redis instanceof Cluster)) return this.prefix + key;
    return `${this.prefix}{${group}}${key}`;
  }
}

/** Names in the slots of every master that the client knows. Slots without a master count as one more. */
function groupsForAll({ slots }: Cluster): string[] {
  const masterOf = (slot: number) => slots[slot]?.[0] ?? '';
  const wanted = new Set(Array.from({ length: 16_384 }, (_, slot) => masterOf(slot)));
  const groups: string[] = [];
  for (let n = 0; wanted.size > 0 && n < MOST_PROBE_GROUPS; n += 1) {
    const group = `probe-${n}`;
    if (wanted.delete(masterOf(new Command('get', [group]).getSlot()))) groups.push(group);
  }
  return groups;
}
