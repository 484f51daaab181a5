export { Concurrency, ConcurrencyGuard, networkOf } from './concurrency.js';
export { MemoryStorage } from './memory-storage.js';
export {
  decisions,
  DEFAULT_LIMIT,
  RateLimitGuard,
  type RateLimitSubject,
  WINDOW,
} from './rate-limit.guard.js';
export { RateLimitModule, RateLimitStatus } from './rate-limit.module.js';
export { connectRedis, WrongRedis } from './redis-connection.js';
export { type RedisConnection, redisIncidentOf } from './redis-incident.js';
export { RedisStorage } from './redis-storage.js';
export { readRedisUrl, REDIS_URL_FORMS } from './redis-url.js';
export { ResilientStorage } from './resilient-storage.js';
export { type WindowStorage } from './window-storage.js';
