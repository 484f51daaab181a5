import { type ErrorCode, type ErrorReason } from './generated.js';

/** The base of all errors that the client throws. */
export class AdvocacyError extends Error {
  override name = 'AdvocacyError';
}

/** A field of a request, and what is wrong with it. */
export type Issue = { path: string; message: string };

/** The server rejected the request, or could not process it. */
export class ApiError extends AdvocacyError {
  override name = 'ApiError';

  constructor(
    /** The HTTP status. */
    readonly status: number,
    readonly code: ErrorCode,
    message: string,
    /** The cause within the code. Some errors have none. */
    readonly reason: ErrorReason | undefined,
    /** Finds the request in the log and in the history of the server. */
    readonly requestId: string | undefined,
    /** The address of a page that explains the error. */
    readonly docs: string | undefined,
    /** The invalid fields, or what prevents the change. */
    readonly issues: readonly Issue[],
    /** Seconds after which the same request may succeed. */
    readonly retryAfter: number | undefined,
    /** With `EMAIL_TAKEN` and `EXTERNAL_ID_TAKEN`: the contact that has it. */
    readonly contactId: string | undefined,
    /** With `MERGED`: the contact to use instead. */
    readonly mergedInto: string | undefined,
  ) {
    super(message);
  }
}

/** No complete response arrived: the connection failed, or the attempt took longer than `timeout`. `cause` has the details. */
export class ConnectionError extends AdvocacyError {
  override name = 'ConnectionError';
}

/** The client cannot work with an option, or with the secret of a webhook. The message does not contain its value. */
export class ConfigurationError extends AdvocacyError {
  override name = 'ConfigurationError';
}

/** The change was made by an earlier request or attempt, and only its response had the key or secret. */
export class SecretLostError extends AdvocacyError {
  override name = 'SecretLostError';

  constructor(
    field: string,
    /** The rest of the response, such as `apiKeyId`. */
    readonly data: Readonly<Record<string, unknown>>,
  ) {
    super(
      `The change was made before, and only its first response had the ${field}. Rotate it to get a new one.`,
    );
  }
}

/** The request was not sent by the webhook with this secret, or not within the last five minutes. */
export class WebhookVerificationError extends AdvocacyError {
  override name = 'WebhookVerificationError';
}
