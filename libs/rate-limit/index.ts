export { Concurrency, ConcurrencyGuard, networkOf } from './concurrency.js';
export { decisions, RateLimitGuard, type RateLimitSubject } from './rate-limit.guard.js';
export { RateLimitModule, RateLimitStatus } from './rate-limit.module.js';
export { connectRedis, WrongRedis } from './redis-connection.js';
export { type RedisConnection, redisIncidentOf } from './redis-incident.js';
export { readRedisUrl, REDIS_URL_FORMS } from './redis-url.js';
export { type WindowStorage } from './window-storage.js';
