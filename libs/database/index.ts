export {
  describeError,
  exclusively,
  isUnavailable,
  migrate,
  openDatabase,
  type DatabaseOptions,
  type Sql,
} from './database.js';
export { startEmbeddedPostgres } from './embedded-postgres.js';
export { searchIndexes, textSearchOf, type TextSearch } from './text-search.js';
