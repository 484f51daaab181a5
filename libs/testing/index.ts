export { createTestDatabase, testServerUrl, type TestDatabase } from './database.js';
export { given } from './given.js';
export { startRedis, type RedisServer } from './redis-server.js';
