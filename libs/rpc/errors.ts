import { Tally } from '#libs/measures';

/** The complete list of error codes with their HTTP statuses. */
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

/**
 * The causes of codes that have several, with their explanations for the page behind `error.docs`. Clients
 * depend on these words, so never rename one. A word belongs to only one code.
 */
export const ERROR_REASONS = {
  UNAUTHORIZED: {
    KEY_MISSING: 'The request has no Authorization header.',
    KEY_MALFORMED: 'The Authorization header is not of the form Bearer <API_KEY>.',
    KEY_INVALID: 'The API key does not exist, or was revoked or rotated. Use another one.',
    KEY_EXPIRED: 'The API key has expired. Request a new one.',
  },
  INSUFFICIENT_PERMISSIONS: {
    SCOPE_MISSING: 'The API key lacks a scope that this operation requires. error.message names the scope.',
    KEY_EXCEEDS_YOURS:
      'The API key to create, rotate or revoke has more permissions than the one you use. Request fewer, or use a key that has them all.',
    ROLE_EXCEEDS_YOURS:
      'The role to assign, or the current role of the person, has more permissions than you. Ask someone who has them all.',
  },
  NOT_FOUND: {
    MERGED:
      'The contact was merged into another one of the same person. error.mergedInto is its id: use that one from now on.',
  },
  CONFLICT: {
    EMAIL_TAKEN:
      'Another contact of your organization has this email address. Update that contact, or use another address.',
    EXTERNAL_ID_TAKEN:
      'Another contact of your organization has this external ID. error.message names it. Update that contact, or remove the ID from it.',
    PETITION_NOT_PUBLISHED: 'The petition is a draft, so it cannot be signed or closed. Publish it first.',
    PETITION_CLOSED: 'The petition is closed and accepts no signatures. To reopen it, publish it again.',
    PETITION_PUBLISHED: 'The petition is published and cannot be deleted. Close it first.',
    POST_NOT_PUBLISHED: 'The post is a draft, so it cannot be archived. Publish it first, or delete it.',
    BROADCAST_BEGUN:
      'The broadcast is being sent, was sent or was canceled, so it can no longer be changed like this. error.message says what you can do.',
    BROADCAST_NOT_SENDING: 'The broadcast is not being sent, so it cannot be paused, resumed or retried.',
    BROADCAST_NOT_READY:
      'The broadcast cannot be sent yet. error.issues lists every problem. Fix them and send it again.',
    RECIPIENTS_DELETED:
      'The recipients of the broadcast were deleted because their retention period is over. get-broadcast still returns their numbers.',
    SLUG_TAKEN: 'Another page of this kind uses this slug, or used it within the last year. Choose another.',
    KEY_ENDED: 'The API key to rotate was revoked or has expired. Create a new one.',
    KEY_ROTATED:
      'The API key was already rotated. error.message names its successor. Rotate that one, or revoke this one.',
    KEY_LIMIT_REACHED:
      'Your organization has reached its limit of API keys. Revoke one that you no longer need.',
    IMAGE_SHOWN:
      'Petitions, posts or the organization use the image. error.issues lists them. Assign another image to them, or delete this one with detach, which removes it from them.',
    ALREADY_MEMBER:
      'The person is already a member of your organization. To change their role, use update-member.',
    INVITATION_ACCEPTED: 'The invitation was already accepted. To remove the person, use remove-member.',
    LAST_OWNER: 'The person is the last owner of your organization. Make someone else an owner first.',
    WEBHOOK_LIMIT_REACHED:
      'Your organization has reached its limit of webhooks. Delete one that you no longer need.',
    FIELD_LIMIT_REACHED:
      'Your organization has reached its limit of custom fields. Delete one that you no longer need.',
    OPTION_IN_USE:
      'Contacts have the option that you remove as their value. error.message states how many. Give them another value first.',
    NOT_SEALED:
      'The stored history of your organization does not match what was signed before. Nothing is signed or proved until the operator has examined it.',
  },
  RATE_LIMIT_EXCEEDED: {
    KEY_RATE: 'The API key exceeds its limit of requests per second.',
    ADDRESS_RATE:
      'The address exceeds its limit of requests per second without a valid API key. Correct the key first.',
    ORGANIZATION_RATE: 'All API keys of your organization together exceed the limit of requests per second.',
    CONCURRENCY:
      'Your organization, or your address, has reached its limit of concurrent requests. Wait for their responses.',
    STREAM_LIMIT:
      'The limit of concurrent imports, exports and uploads is reached. Wait until one has finished.',
  },
  SERVICE_UNAVAILABLE: {
    DATABASE_UNREACHABLE:
      'The database is unreachable, or cannot process the request. error.message may say more. Retry later.',
    DATABASE_TAKES_NO_WRITES:
      'The database accepts no writes at the moment: it is failing over, its disk is full, or something blocks writes. error.message may say more. Reads work. Retry later.',
    DEADLINE_EXCEEDED:
      'The response was not ready in time. The change may or may not have been applied. Retry, with the same Idempotency-Key if the request had one.',
    SHUTTING_DOWN: 'This instance is shutting down. Retry: other instances are serving.',
    RECORD_BUSY: 'Too many concurrent requests change one record. Send fewer of them at a time.',
    STORAGE_UNREACHABLE:
      'The image storage is unreachable, or rejects files. Everything else works. Retry later.',
    TIMED_OUT: 'The database took too long. Request less data.',
    NEWER_VERSION:
      'A later version of this program changed the record in a way this instance does not know. Retry: another instance may respond.',
    HISTORY_DAMAGED:
      'The stored history of the record was altered, so it cannot be used. Contact the operator and mention error.requestId.',
    OVERLOADED: 'The server is overloaded. Wait for the time in the Retry-After header.',
  },
} as const satisfies { [code in ErrorCode]?: Record<string, string> };

/** Whether errors with this code always have a reason. NOT_FOUND has one only for a record that was merged. */
export function isReasoned(code: ErrorCode): code is ReasonedCode {
  return code in ERROR_REASONS && code !== 'NOT_FOUND';
}

/** Error responses of this process, by reason, or by code if it has no reasons. */
export const errorAnswers = new Tally([
  ...(Object.keys(ERROR_STATUS) as ErrorCode[]).filter((code) => !isReasoned(code)),
  ...Object.values(ERROR_REASONS).flatMap((reasons) => Object.keys(reasons)),
]);

/** The codes that always have a reason. */
export type ReasonedCode = Exclude<keyof typeof ERROR_REASONS, 'NOT_FOUND'>;
export type ReasonOf<Code extends keyof typeof ERROR_REASONS> = Code extends keyof typeof ERROR_REASONS
  ? keyof (typeof ERROR_REASONS)[Code] & string
  : never;
export type ErrorReason = ReasonOf<keyof typeof ERROR_REASONS>;

/** Reasons that only some operations can return. These operations declare them. */
export type OwnReason =
  | ReasonOf<'CONFLICT'>
  | ReasonOf<'NOT_FOUND'>
  | 'KEY_EXCEEDS_YOURS'
  | 'ROLE_EXCEEDS_YOURS';

/** The reasons of a code; none if the code is specific enough. */
export function reasonsOf(code: ErrorCode): ErrorReason[] {
  return Object.keys((ERROR_REASONS as { [code in ErrorCode]?: object })[code] ?? {}) as ErrorReason[];
}

/** A mistake in the input. `path` is the field (`content.title`, `[2].email`), or `''` for the whole input. */
export type Issue = { path: string; message: string };

/** `mergedInto`: only with the reason MERGED. */
type Details = { issues?: Issue[]; headers?: Record<string, string>; mergedInto?: string };

/** Code, message, details, and what is only logged. A code with reasons requires one. */
type Description =
  | [
      code: Exclude<ErrorCode, ReasonedCode>,
      message: string,
      details?: Details & { reason?: undefined },
      options?: ErrorOptions,
    ]
  | [code: 'NOT_FOUND', message: string, details: Details & { reason: 'MERGED'; mergedInto: string }]
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
    mergedInto?: string;
    issues?: Issue[];
  };
};

/** @param object the API's name for the kind of record: `list`. */
export function noSuch(object: string): RpcError {
  return new RpcError('NOT_FOUND', `No ${object} with this ${object}Id exists in your organization.`);
}
