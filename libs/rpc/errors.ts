import {
  ERROR_STATUS,
  type ErrorCode,
  type ErrorReason,
  type ReasonedCode,
  type ReasonOf,
} from './error-codes.js';

/** A mistake in the input. `path` is the field (`content.title`, `[2].email`), or `''` for the whole input. */
export type Issue = { path: string; message: string };

/** `fields`: the additional ones that the code or the reason declares. */
type Details = {
  issues?: Issue[];
  headers?: Record<string, string>;
  fields?: Record<string, string | number>;
};

/** Code, message, details, and what is only logged. A code with reasons requires one. */
type Description =
  | [
      code: Exclude<ErrorCode, ReasonedCode>,
      message: string,
      details?: Details & { reason?: undefined },
      options?: ErrorOptions,
    ]
  | [code: 'NOT_FOUND', message: string, details: Details & { reason: ReasonOf<'NOT_FOUND'> }]
  | {
      [Code in ReasonedCode]: [
        code: Code,
        message: string,
        details: Details & { reason: ReasonOf<Code> },
        options?: ErrorOptions,
      ];
    }[ReasonedCode];

/**
 * The only error that API clients see as it is. Its message is written for them. Every other error becomes a
 * 500 that reveals nothing internal.
 */
export class RpcError extends Error {
  readonly code: ErrorCode;
  readonly details: Details & { reason?: ErrorReason | undefined };

  constructor(...[code, message, details = {}, options]: Description) {
    super(message, options);
    this.name = 'RpcError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

export type ErrorBody = {
  error: {
    code: ErrorCode;
    reason?: ErrorReason;
    message: string;
    docs: string;
    requestId: string;
    /** With VERSION_MISMATCH: the current version. */
    version?: number;
    issues?: Issue[];
  };
};

/** @param object the API's name for the kind of record: `api-key`. @returns the field with its id: `apiKeyId`. */
export function idFieldOf(object: string): string {
  return `${object.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}Id`;
}

/** @param object the API's name for the kind of record: `list`. */
export function noSuch(object: string): RpcError {
  return new RpcError(
    'NOT_FOUND',
    `No ${object} with this ${idFieldOf(object)} exists in your organization.`,
  );
}
