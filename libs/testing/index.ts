export { createTestDatabase, testServerUrl, type TestDatabase } from './database.js';
export { given } from './given.js';
export { findFreePort } from './ports.js';
export { type PostgresServer, startPostgres, type StopMode } from './postgres-server.js';
export { findProgram } from './programs.js';
export { startRedis, type RedisServer } from './redis-server.js';
export { startSilentProxy, type SilentProxy } from './silent-proxy.js';
export { RedisCluster, RedisNode, RedisSentinel } from './redis-nodes.js';
