export {
  failFast,
  exclusively,
  isMigrated,
  migrate,
  openDatabase,
  CONNECTIONS_BESIDE_THE_POOL,
  RESERVED_CONNECTIONS,
  ReservedConnections,
  type Sql,
} from './database.js';
export { type TransactionLimits } from './connection.js';
export { fewAtOnce } from './few-at-once.js';
export { containsDatabase } from './embedded-postgres-cluster.js';
export { findPrograms, findSystemUser, findWayToRun } from './embedded-postgres-programs.js';
export { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.js';
export { binaryArray, type ElementType } from './binary-arrays.js';
export { TtlCache } from './ttl-cache.js';
export { Lease } from './lease.js';
export { BatchLoader } from './batch-loader.js';
export { momentAsText } from './moments.js';
export { FairGate, TooManyWaiting } from './fair-gate.js';
export { type Missing, missingFromSchema, schemaOfDatabase } from './schema.js';
export { DATABASE_IDENTITY, ReadSource, type ReplicaOptions } from './read-source.js';
export { SharedStatement } from './shared-statement.js';
export { literal } from './statements.js';
export { storedBytes } from './stored-size.js';
export { searchIndexes, textSearchOf } from './text-search.js';
export { poolUse } from './pool-use.js';
export {
  describeError,
  describeIncident,
  isCollision,
  isConnectionLost,
  isForbidden,
  isTimedOut,
  isTransient,
  isTurnedAway,
  isUnavailable,
  said,
  incidentOf,
} from './incidents.js';
export { inTransaction, inTransactionFrom, type Transaction } from './transaction.js';
export { IncidentLog } from './incident-log.js';
export { queryInTurn, queryWide, type WideQuery, wideQueries } from './wide-query.js';
