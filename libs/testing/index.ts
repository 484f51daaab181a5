export { catalogOf } from './catalog.js';
export { type CountingProxy, startCountingProxy, type Turn } from './counting-proxy.js';
export { createTestDatabase, testServerUrl, type TestDatabase } from './database.js';
export { expectEntries } from './entries.js';
export { eventually } from './eventually.js';
export { given } from './given.js';
export { type Haproxy, startHaproxy } from './haproxy.js';
export { type PgBouncer, startPgBouncer } from './pgbouncer.js';
export { killAtExit } from './kill-at-exit.js';
export { findFreePort } from './ports.js';
export { type PostgresServer, startPostgres, type StopMode } from './postgres-server.js';
export { findProgram } from './programs.js';
export { type S3Server, startS3Server } from './s3-server.js';
export { startRedis, type RedisServer } from './redis-server.js';
export {
  type AcceptedMail,
  type SmtpBehaviour,
  SmtpServer,
  type SmtpServerOptions,
  type SmtpStage,
} from './smtp-server.js';
export { startSilentProxy, type SilentProxy } from './silent-proxy.js';
export { RedisCluster, RedisNode, RedisSentinel } from './redis-nodes.js';
