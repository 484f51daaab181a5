import { setTimeout as sleep } from 'node:timers/promises';
import { connectRedis, type RedisConnection, redisIncidentOf, WrongRedis } from '#libs/rate-limit';
import { bytes, type Findings } from './finding.js';
import { instancesOf } from './read-models.js';
import { type Check } from './deployment.js';

const MIN_VERSION = [6, 2] as const;
const TIMEOUT_MS = 3_000;
const MAX_DIFFERENCE_MS = 1_000;
const NEARLY_FULL = 0.9;

/** Whether instances can share rate limits. */
export const redis: Check = {
  name: 'redis',
  async examine({ config, database, isWrong }, found) {
    if (isWrong('REDIS_URL')) return undefined;
    if (config.redisUrl === undefined) {
      const instances = database && (await instancesOf(database).catch(() => undefined));
      if (instances === undefined || instances < 2)
        return 'Redis is not configured. Each instance counts rate limits by itself.';
      return found.warning(
        `${instances} instances run without REDIS_URL, so each one counts rate limits by itself.`,
        'Set the same REDIS_URL on all instances.',
      );
    }
    let connection: RedisConnection | undefined;
    try {
      connection = await connectRedis(config.redisUrl);
      const info = await inTime(connection.info());
      const before = Date.now();
      // Runs a script on one key, as instances do. It only reads.
      const time = connection.eval("return redis.call('TIME')", 1, 'rate-limit:probe');
      const [seconds] = (await inTime(time)) as [string, string];
      const difference = Number(seconds) * 1_000 + 500 - (before + Date.now()) / 2;
      return judge(found, info, difference);
    } catch (error) {
      if (error instanceof WrongRedis) {
        const { what, advice } = error.problem;
        return found.problem(`${what}.`, `${advice} Until then, no server starts.`);
      }
      if (!connection) throw error;
      const { what, said, advice } = redisIncidentOf(connection, error as Error);
      const reason = said === undefined ? what : `${what} (${said})`;
      return found.problem(
        `Redis cannot be used: ${reason}. For now, each instance counts rate limits by itself.`,
        advice,
      );
    } finally {
      connection?.disconnect();
    }
  },
};

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const late = sleep(TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no response within ${TIMEOUT_MS / 1_000} s`);
  });
  return Promise.race([answer, late]);
}

function judge(found: Findings, info: string, difference: number): string {
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = value('redis_version');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]))
    found.problem(`Redis ${version} is too old.`, 'Upgrade to Redis 6.2 or newer.');
  if (value('role') === 'slave')
    found.problem(
      'REDIS_URL leads to a replica, which cannot count.',
      'Set it to the primary, to sentinels, or to a name that follows the primary.',
    );
  const policy = value('maxmemory_policy');
  if (policy.startsWith('allkeys'))
    found.warning(
      `maxmemory-policy is ${policy}, so Redis can evict the counts of rate limits.`,
      'Set it to noeviction or volatile-ttl. Counts expire after two seconds and take little memory.',
    );
  const [most, used] = [Number(value('maxmemory')), Number(value('used_memory'))];
  if (most > 0 && used > most * NEARLY_FULL)
    found.warning(
      `Redis uses ${bytes(used)} of its ${bytes(most)}. When it is full, each instance counts rate limits by itself.`,
      'Raise maxmemory, or find out which other programs write to it.',
    );
  // TIME is read in whole seconds, so it is uncertain by half a second.
  if (Math.abs(difference) > MAX_DIFFERENCE_MS + 500)
    found.warning(
      `Redis's clock is ${Math.round(Math.abs(difference) / 1_000)} s ${difference < 0 ? 'behind' : 'ahead of'} this machine's.`,
      'Synchronize both with NTP. Rate limits only use Redis’s clock and are still correct.',
    );
  return `Redis ${version} responds and counts for all instances.`;
}
