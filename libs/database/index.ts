export {
  endPatience,
  exclusively,
  isMigrated,
  migrate,
  openDatabase,
  CONNECTIONS_BESIDE_THE_POOL,
  RESERVED_CONNECTIONS,
  ReservedConnections,
  type DatabaseOptions,
  type Sql,
} from './database.js';
export { type TransactionLimits } from './connection.js';
export { fewAtOnce } from './few-at-once.js';
export { findPrograms, findSystemUser, findWayToRun } from './embedded-postgres-programs.js';
export { startEmbeddedPostgres } from './embedded-postgres.js';
export { binaryArray, type ElementType } from './binary-arrays.js';
export { Kept } from './kept.js';
export { Lease } from './lease.js';
export { Loader } from './loader.js';
export { momentAsText } from './moments.js';
export { FairGate, TooManyWaiting } from './fair-gate.js';
export { type Missing, missingFromSchema, schemaOfDatabase } from './schema.js';
export { DATABASE_IDENTITY, ReadSource, type ReplicaOptions } from './read-source.js';
export { SharedStatement } from './shared-statement.js';
export { literal } from './statements.js';
export { storedBytes } from './stored-size.js';
export { searchIndexes, textSearchOf, type TextSearch } from './text-search.js';
export { poolUse } from './pool-use.js';
export {
  describeError,
  describeTrouble,
  isCollision,
  isConnectionLost,
  isForbidden,
  isTimedOut,
  isTransient,
  isTurnedAway,
  isUnavailable,
  said,
  type Trouble,
  troubleOf,
} from './trouble.js';
export { inTransaction, inTransactionFrom, type Transaction } from './transaction.js';
export { TroubleLog } from './trouble-log.js';
export { queryInTurn, queryWide, type WideQuery, wideQueries } from './wide-query.js';
