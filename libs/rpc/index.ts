export { ERROR_STATUS, RpcError, type ErrorBody, type ErrorCode, type Issue } from './errors.js';
