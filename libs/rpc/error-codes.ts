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
  VERSION_MISMATCH: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_SERVER_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const ERROR_CODES = Object.keys(ERROR_STATUS) as ErrorCode[];

/** An explanation, and the additional fields of such an error. */
type Reason = string | { text: string; fields: ReasonFields };
type ReasonFields = { readonly [name: string]: { readonly description: string; readonly example: string } };
export type Reasons = { readonly [code in ErrorCode]?: { readonly [reason: string]: Reason } };

/**
 * The reasons that every operation can have, with their explanations for the page behind `error.docs`. Clients
 * depend on these words, so never rename one. A word belongs to only one code.
 */
const COMMON = {
  UNAUTHORIZED: {
    KEY_MISSING: 'The request has no Authorization header.',
    KEY_MALFORMED: 'The Authorization header is not of the form Bearer <API_KEY>.',
    KEY_INVALID: 'The API key does not exist, or was revoked or rotated. Use another one.',
    KEY_EXPIRED: 'The API key has expired. Request a new one.',
    KEY_ORIGIN:
      'The publishable key does not work on this website, or the request has no Origin header. Add the origin of the website to the key.',
  },
  INSUFFICIENT_PERMISSIONS: {
    SCOPE_MISSING: 'The API key lacks a scope that this operation requires. error.message names the scope.',
  },
  CONFLICT: {
    SLUG_TAKEN: 'Another page of this kind uses this slug, or used it within the last year. Choose another.',
  },
  RATE_LIMIT_EXCEEDED: {
    KEY_RATE: 'The API key exceeds its limit of requests per second.',
    ADDRESS_RATE:
      'The address exceeds its limit of requests per second without a valid API key. Correct the key first.',
    ORGANIZATION_RATE:
      'The API keys of your organization share a limit of requests per second, and together exceed it. Send fewer.',
    CONCURRENCY:
      'Your organization, or your address, has reached its limit of concurrent requests. Wait for their responses.',
    STREAM_LIMIT:
      'The limit of concurrent imports, exports and uploads is reached. Wait until one has finished.',
  },
  SERVICE_UNAVAILABLE: {
    DATABASE_UNREACHABLE:
      'The database is unreachable, or cannot process the request. error.message may contain details. ' +
      'Retry later.',
    DATABASE_TAKES_NO_WRITES:
      'The database accepts no writes at the moment: it is failing over, its disk is full, or something ' +
      'blocks writes. error.message may contain details. Reads work. Retry later.',
    DEADLINE_EXCEEDED:
      'The response was not ready in time. The change may or may not have been applied. Retry, with the same Idempotency-Key if the request had one.',
    SHUTTING_DOWN: 'This instance is shutting down. Retry: other instances are serving.',
    RECORD_BUSY:
      'Too many parallel requests are changing this record. Wait a second, and then send fewer requests in parallel.',
    STORAGE_UNREACHABLE:
      'The image storage is unreachable, or rejects files. Everything else works. Retry later.',
    TIMED_OUT: 'The database took too long. Request less data.',
    NEWER_VERSION:
      'A newer version of the program changed the record in a way that this instance cannot read. Retry: another instance may respond.',
    HISTORY_DAMAGED:
      'The stored history of the record was altered, so it cannot be used. Contact the operator and include error.requestId.',
    OVERLOADED: 'The server is overloaded. Wait for the time in the Retry-After header.',
  },
} as const satisfies Reasons;

/**
 * The reasons that only operations of one module return. Each module adds its own: see `src/posts/reasons.ts`.
 * @public
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- modules add to it
export interface ModuleReasons {}

const ALWAYS_REASONED = [
  'UNAUTHORIZED',
  'INSUFFICIENT_PERMISSIONS',
  'CONFLICT',
  'RATE_LIMIT_EXCEEDED',
  'SERVICE_UNAVAILABLE',
] as const satisfies ErrorCode[];

export type ReasonedCode = (typeof ALWAYS_REASONED)[number];

/** Whether errors with this code always have a reason. Other codes have one only for some causes. */
export function isReasoned(code: ErrorCode): code is ReasonedCode {
  return (ALWAYS_REASONED as readonly ErrorCode[]).includes(code);
}

type In<All, Code> = All extends { readonly [code in Code & PropertyKey]: infer Own }
  ? keyof Own & string
  : never;
export type ReasonOf<Code extends ErrorCode> =
  | In<typeof COMMON, Code>
  | { [Name in keyof ModuleReasons]: In<ModuleReasons[Name], Code> }[keyof ModuleReasons];
export type ErrorReason = { [Code in ErrorCode]: ReasonOf<Code> }[ErrorCode];

/** Reasons that only some operations can return. These operations declare them. */
export type OwnReason =
  | ReasonOf<'CONFLICT'>
  | ReasonOf<'NOT_FOUND'>
  | Exclude<ReasonOf<'INSUFFICIENT_PERMISSIONS'>, 'SCOPE_MISSING'>;

let declared: readonly Reasons[] = [COMMON];

/** Error responses of this process, by reason, or by code if it has no reasons. */
export const errorAnswers = new Tally(
  ERROR_CODES.flatMap((code) => [...(isReasoned(code) ? [] : [code]), ...reasonsOf(code)]),
);

/**
 * Declares the reasons of all modules, in the order of the documentation.
 *
 * @returns those declared before.
 */
export function declareReasons(ofModules: readonly Reasons[]): readonly Reasons[] {
  const [, ...previous] = declared;
  declared = [COMMON, ...ofModules];
  errorAnswers.expect(ERROR_CODES.flatMap(reasonsOf));
  return previous;
}

/** The reasons of a code with their explanations; none if the code is specific enough. */
export function explainedReasons(code: ErrorCode): { [reason in ErrorReason]?: string } {
  return Object.fromEntries(
    entriesOf(code).map(([name, reason]) => [name, typeof reason === 'string' ? reason : reason.text]),
  );
}

export function reasonsOf(code: ErrorCode): ErrorReason[] {
  return entriesOf(code).map(([name]) => name as ErrorReason);
}

/** The additional fields of errors with this reason. */
export function fieldsOfReason(code: ErrorCode, name: string): ReasonFields {
  const reason = Object.fromEntries(entriesOf(code))[name];
  return typeof reason === 'object' ? reason.fields : {};
}

function entriesOf(code: ErrorCode): [name: string, reason: Reason][] {
  return declared.flatMap((reasons) => Object.entries(reasons[code] ?? {}));
}
