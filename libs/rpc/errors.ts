/** The closed list of error codes and the HTTP status each answers with. */
export const ERROR_STATUS = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  INSUFFICIENT_PERMISSIONS: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_SERVER_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** One thing wrong with the input: `path` is the field (`content.title`, `[2].email`), `''` the whole. */
export type Issue = { path: string; message: string };

/**
 * The one error that crosses the API's border on purpose. Its message is written for the caller; every
 * other error becomes a 500 that says nothing of the inside.
 */
export class RpcError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: { issues?: Issue[]; headers?: Record<string, string> } = {},
    /** What only the log is to know. */
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'RpcError';
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

export type ErrorBody = {
  error: { code: ErrorCode; message: string; docs: string; requestId: string; issues?: Issue[] };
};
