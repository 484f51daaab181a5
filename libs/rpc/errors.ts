import { Tally } from '#libs/measures';

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

/**
 * Where one code stands for several causes, the closed list of them, and what the page behind `error.docs` says of
 * each. Programs go by these words: none is ever renamed. A word belongs to one code alone.
 */
export const ERROR_REASONS = {
  UNAUTHORIZED: {
    KEY_MISSING: 'The request has no Authorization header.',
    KEY_MALFORMED: 'The Authorization header is not of the form Bearer <API_KEY>.',
    KEY_INVALID: 'There is no such API key, or it was revoked or rotated. Use another one.',
    KEY_EXPIRED: 'The time that the API key was made for is over. Ask for a new one.',
  },
  INSUFFICIENT_PERMISSIONS: {
    SCOPE_MISSING: 'The API key lacks a scope that this operation needs; error.message names it.',
    KEY_EXCEEDS_YOURS:
      'The API key to be made, rotated or revoked may do more than the one that asks. Ask for less, or use a key that may do as much.',
    ROLE_EXCEEDS_YOURS:
      'The role to be given, or that the person has, may more than who asks. Ask somebody who may as much.',
  },
  CONFLICT: {
    EMAIL_TAKEN:
      'Another contact of your organization has the e-mail address. Change that one, or use another address.',
    PETITION_NOT_PUBLISHED:
      'The petition is a draft, which can neither be signed nor closed. Publish it first.',
    PETITION_CLOSED: 'The petition is closed and takes no signatures. Publish it again to open it.',
    PETITION_PUBLISHED: 'The petition is published and cannot be deleted. Close it first.',
    POST_NOT_PUBLISHED: 'The post is a draft, which cannot be archived. Publish it first, or delete it.',
    BROADCAST_BEGUN:
      'The broadcast is being sent, was sent or cancelled, and what was asked for is done before that. error.message says what can be done.',
    BROADCAST_NOT_SENDING:
      'The broadcast is not being sent: it can be neither paused nor resumed nor retried.',
    BROADCAST_NOT_READY:
      'The broadcast cannot be sent as it is. error.issues names everything that stands against it; mend it and send it again.',
    RECIPIENTS_DELETED:
      'The recipients of the broadcast were deleted because it is older than the operator keeps them. get-broadcast still returns how many there were.',
    SLUG_TAKEN: 'Another page of this kind is found by the slug, or was within a year. Choose another.',
    KEY_ENDED: 'The API key to be rotated was revoked or has expired. Create a new one.',
    KEY_ROTATED:
      'The API key to be rotated has a successor already; error.message names it. Rotate that one, or revoke this one.',
    KEY_LIMIT_REACHED:
      'Your organization has as many API keys as it may have. Revoke one that is not needed.',
    IMAGE_SHOWN:
      'Petitions, posts or the organization show the image; error.issues names them. Give them another, or delete it with detach, which takes it out of them.',
    ALREADY_MEMBER:
      'The person is a member of your organization already. Use update-member to change their role.',
    INVITATION_ACCEPTED: 'The invitation to be revoked was accepted. Use remove-member.',
    LAST_OWNER: 'The person is the last owner of your organization. Make somebody else an owner first.',
    WEBHOOK_LIMIT_REACHED:
      'Your organization has as many webhooks as it may have. Delete one that is not needed.',
    NOT_SEALED:
      'What is stored of your organization’s history does not lead to what was signed before, so nothing more is signed or proved until the operator has looked at it.',
  },
  RATE_LIMIT_EXCEEDED: {
    KEY_RATE: 'The API key sends more requests per second than it may.',
    ADDRESS_RATE:
      'The address sends more requests per second without a good API key than it may. Mend the key first.',
    ORGANIZATION_RATE:
      'All API keys of your organization together send more requests per second than they may.',
    CONCURRENCY:
      'As many requests of your organization, or of your address, are under way as may be at once. Await their answers.',
    STREAM_LIMIT:
      'As many imports, exports and uploads are running as may run at once. Wait until one has ended.',
  },
  SERVICE_UNAVAILABLE: {
    DATABASE_UNREACHABLE:
      'The database cannot be reached, or cannot do what was asked: error.message may say more. Repeat the request later.',
    DATABASE_TAKES_NO_WRITES:
      'The database accepts no writes at the moment: it fails over, its disk is full, or something holds writes up; error.message may say more. What only reads is answered. Repeat the request later.',
    DEADLINE_EXCEEDED:
      'The answer was not ready in time. A change may have been made or not: repeat the request, with the same Idempotency-Key if it had one.',
    SHUTTING_DOWN: 'This instance is shutting down; others go on. Repeat the request.',
    RECORD_BUSY: 'Too many requests change one record at once. Repeat fewer of them at a time.',
    STORAGE_UNREACHABLE:
      'The store of images cannot be reached, or does not take what it is given. Repeat the request later; everything else is served.',
    TIMED_OUT: 'The database took too long. Ask for less at once.',
    NEWER_VERSION:
      'A later version of this program wrote of the record what this instance does not know. Repeat the request: another may.',
    HISTORY_DAMAGED:
      'Somebody has changed the history of the record in the database: nothing is decided on it. Tell who runs the service, with error.requestId.',
    OVERLOADED: 'The server has more to do than it can. Wait as long as the Retry-After header says.',
  },
} as const satisfies { [code in ErrorCode]?: Record<string, string> };

/** Error answers of this process, by reason, or code where it has none. */
export const errorAnswers = new Tally([
  ...Object.keys(ERROR_STATUS).filter((code) => !(code in ERROR_REASONS)),
  ...Object.values(ERROR_REASONS).flatMap((reasons) => Object.keys(reasons)),
]);

/** The codes that never come without a reason. */
export type ReasonedCode = keyof typeof ERROR_REASONS;
export type ReasonOf<Code extends ReasonedCode> = Code extends ReasonedCode
  ? keyof (typeof ERROR_REASONS)[Code] & string
  : never;
export type ErrorReason = ReasonOf<ReasonedCode>;

/** What not every operation may answer, but each that has it declares. */
export type OwnReason = ReasonOf<'CONFLICT'> | 'KEY_EXCEEDS_YOURS' | 'ROLE_EXCEEDS_YOURS';

/** The reasons of a code; none for a code that says it all. */
export function reasonsOf(code: ErrorCode): ErrorReason[] {
  return Object.keys((ERROR_REASONS as { [code in ErrorCode]?: object })[code] ?? {}) as ErrorReason[];
}

/** One thing wrong with the input: `path` is the field (`content.title`, `[2].email`), `''` the whole. */
export type Issue = { path: string; message: string };

type Details = { issues?: Issue[]; headers?: Record<string, string> };

/** Code, message, details, and what only the log is to know. Where a code has reasons, one must be given. */
type Description =
  | [
      code: Exclude<ErrorCode, ReasonedCode>,
      message: string,
      details?: Details & { reason?: undefined },
      options?: ErrorOptions,
    ]
  | {
      [Code in ReasonedCode]: [
        code: Code,
        message: string,
        details: Details & { reason: ReasonOf<Code> },
        options?: ErrorOptions,
      ];
    }[ReasonedCode];

/**
 * The one error that crosses the API's border on purpose. Its message is written for the caller; every
 * other error becomes a 500 that says nothing of the inside.
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
    issues?: Issue[];
  };
};

/** @param object the API's name of what there is none of: `list`. */
export function noSuch(object: string): RpcError {
  return new RpcError('NOT_FOUND', `There is no ${object} with this ${object}Id in your organization.`);
}
