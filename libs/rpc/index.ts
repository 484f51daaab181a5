export { type RequestContext, requestContext, systemContext } from './context.js';
export { shared } from './compression.js';
export { operationsModule } from './controller.js';
export { comparableEmail, isEmailAddress } from './email-address.js';
export {
  actorSchema,
  errorContent,
  errorExamples,
  imageSchema,
  listedSchema,
  recordSchema,
  resourceSchema,
  inputSchema,
  sharedSchemas,
  textOrNull,
  timestampOrNull,
  timestamp,
} from './documentation.js';
export { Documented, documentRoutes } from './documented.js';
export { undeclaredErrors } from './declared-errors.js';
export { ErrorFilter } from './error-filter.js';
export { handlerOf } from './handler.js';
// `export *`, because modules extend its `ModuleReasons`.
export * from './error-codes.js';
export { type Issue, idFieldOf, noSuch, RpcError } from './errors.js';
export { entityTag, expectedVersionOf, recordVersion, returnsVersion } from './expected-version.js';
export {
  AnyJson,
  Keyed,
  Colour,
  Email,
  Emails,
  type FieldSchema,
  fieldsOf,
  Flag,
  hasOnlyFields,
  Id,
  Ids,
  Integer,
  IpAddress,
  isId,
  isMoment,
  momentOf,
  LONGEST_SLUG,
  Names,
  Nested,
  NestedList,
  NestedMap,
  OneOf,
  PastDay,
  PastTimestamp,
  SLUG,
  Slug,
  Text,
  Timestamp,
  UNSTORABLE,
  WebAddress,
  WordsOf,
} from './fields.js';
export {
  Input,
  type InputClass,
  inputOf,
  invalid,
  jsonIn,
  parseInput,
  PastInput,
  RecordInput,
  type StreamedBody,
  StreamedInput,
  systemInput,
} from './input.js';
export {
  declareOperations,
  findOperation,
  Operation,
  operationNamed,
  operationOf,
  operationsAmong,
} from './operation.js';
export { OperationRunner } from './operation-runner.js';
export { currentScope, storedScope } from './former-names.js';
export {
  allScopes,
  declareScopes,
  hasScope,
  mayBePublic,
  NeedsScope,
  requireScope,
  scopeNeededBy,
  scopeOf,
  scopeSchema,
} from './scopes.js';
export {
  CreatedPageInput,
  CreationFilters,
  listingOf,
  type Page,
  Paged,
  PageInput,
  malformedCursor,
  pageOf,
  TimeFilters,
} from './paging.js';
export { ORIGIN, ORIGIN_RULE } from './origin.js';
export { replaceUndecodablePath } from './query.js';
export { answerHeaders, hidden, identifyRequest, isOfApi, storedRequestId, type Caller } from './request.js';
export { openStream, streamsOpen } from './open-streams.js';
export { sendStream, StreamedAnswer } from './streamed-answer.js';
export { countAnswer, requireReading, unreadBytes } from './unread-answers.js';
export { UnknownOperationController } from './unknown-operation.controller.js';
export { readJsonBody, refuseBody } from './body.js';
export { RpcExpressAdapter } from './http-adapter.js';
export { ServerLife } from './http-server.js';
export { allowLongBody } from './pacing.js';
export { RpcModule } from './rpc.module.js';
export { readerOf } from './preferred-record.js';
export { PastRecord, rejectWithPast, requireCreationOrder, until } from './past.js';
export { errorDocumentation } from './operation-documentation.js';
