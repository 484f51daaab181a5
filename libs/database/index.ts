export {
  describeError,
  endPatience,
  exclusively,
  inTransaction,
  isForbidden,
  isUnavailable,
  migrate,
  openDatabase,
  RESERVED_CONNECTIONS,
  ReservedConnections,
  type DatabaseOptions,
  type Sql,
} from './database.js';
export { findPrograms, findSystemUser, findWayToRun } from './embedded-postgres-programs.js';
export { startEmbeddedPostgres } from './embedded-postgres.js';
export { isConnectionLost, Lease } from './lease.js';
export { TooManyWaiting } from './fair-gate.js';
export { missingFromSchema, schemaOfDatabase } from './schema.js';
export { searchIndexes, textSearchOf, type TextSearch } from './text-search.js';
export { poolUse } from './pool-use.js';
export { isTimedOut, queryInTurn, queryWide, type WideQuery, wideQueries } from './wide-query.js';
