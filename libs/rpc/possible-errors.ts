import { type ErrorCode, type ErrorReason, ERROR_STATUS, reasonsOf } from './error-codes.js';
import { fieldsOf } from './fields.js';
import { type InputClass } from './input.js';
import { type OperationDefinition } from './operation.js';

/** The errors with one status that an operation can return. `reasons`: the reasons of all its codes. */
export type PossibleError = { status: number; codes: ErrorCode[]; reasons: ErrorReason[] };

/** All errors that an operation can return, by status. Most follow from its shape. It declares the others. */
export function possibleErrors(
  input: InputClass,
  {
    method,
    bodyTypes,
    largestBody,
    answerTypes,
    reasons = [],
    list = false,
    isConditional = false,
  }: Pick<
    OperationDefinition,
    'method' | 'bodyTypes' | 'largestBody' | 'answerTypes' | 'reasons' | 'list' | 'isConditional'
  >,
): PossibleError[] {
  const streams = bodyTypes !== undefined || answerTypes !== undefined;
  const changes = method !== 'GET';
  // See `OwnReason`.
  const own: readonly ErrorReason[] = (['CONFLICT', 'NOT_FOUND', 'INSUFFICIENT_PERMISSIONS'] as const)
    .flatMap(reasonsOf)
    .filter((reason): boolean => reason !== 'SCOPE_MISSING');
  const mayHave = (reason: ErrorReason): boolean => {
    if (own.includes(reason)) return (reasons as readonly ErrorReason[]).includes(reason);
    if (reason === 'STREAM_LIMIT') return streams;
    if (reason === 'RECORD_BUSY') return changes;
    return true;
  };
  const mayBe: Record<ErrorCode, boolean> = {
    BAD_REQUEST: true,
    UNAUTHORIZED: true,
    FORBIDDEN: true,
    INSUFFICIENT_PERMISSIONS: true,
    // A past list may be empty, and a past record may not have existed yet.
    NOT_FOUND: namesRecords(input) || (!list && fieldsOf(input).has('asOf')),
    // A separate route returns it.
    METHOD_NOT_ALLOWED: false,
    CONFLICT: reasonsOf('CONFLICT').some(mayHave),
    VERSION_MISMATCH: isConditional,
    PAYLOAD_TOO_LARGE: changes && (!bodyTypes || largestBody !== undefined),
    UNSUPPORTED_MEDIA_TYPE: changes,
    IDEMPOTENCY_KEY_REUSED: changes,
    RATE_LIMIT_EXCEEDED: true,
    INTERNAL_SERVER_ERROR: true,
    SERVICE_UNAVAILABLE: true,
  };
  const byStatus = new Map<number, PossibleError>();
  for (const code of (Object.keys(mayBe) as ErrorCode[]).filter((code) => mayBe[code])) {
    const status = ERROR_STATUS[code];
    const possible = byStatus.get(status) ?? { status, codes: [], reasons: [] };
    possible.codes.push(code);
    possible.reasons.push(...reasonsOf(code).filter(mayHave));
    byStatus.set(status, possible);
  }
  return [...byStatus.values()];
}

/** Whether a record named by the input may be missing. The organization always exists. */
function namesRecords(input: new () => object): boolean {
  return [...fieldsOf(input)].some(
    ([name, { namesRecord, nested }]) =>
      (namesRecord && name !== 'organizationId') || (nested && namesRecords(nested())),
  );
}
