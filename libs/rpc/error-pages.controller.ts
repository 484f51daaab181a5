import { Controller, Get, Header, Param } from '@nestjs/common';
import { Documented } from './documented.js';
import { type ErrorCode, ERROR_STATUS, explainedReasons } from './error-codes.js';
import { RpcError } from './errors.js';

/**
 * The meaning of each code, and what to do: the page behind `error.docs`.
 *
 * @public The reference of errors is generated from it.
 */
export const EXPLANATIONS: Record<ErrorCode, string> = {
  BAD_REQUEST:
    'The input is malformed or invalid. error.issues names each field and what is wrong with it. Correct them and send the request again.',
  UNAUTHORIZED:
    'No valid API key was sent. Send Authorization: Bearer <API_KEY>. error.reason shows what is wrong.',
  FORBIDDEN:
    'The API key is valid, but it does not belong to the organization in organizationId. Send the organization of your key, or use a key of that organization. Most operations do not require organizationId.',
  INSUFFICIENT_PERMISSIONS: 'The API key lacks a permission. error.message names it. Use a key that has it.',
  NOT_FOUND:
    'Your organization has no record with this id, or the operation does not exist. Check the id and the address.',
  METHOD_NOT_ALLOWED: 'The operation exists, but only accepts the HTTP method in the Allow header.',
  CONFLICT:
    'The state of the record, or another record, prevents the change. error.reason is for programs. error.message explains what to do.',
  PAYLOAD_TOO_LARGE:
    'The request body is larger than 1 MiB. Split it into several requests. Imports can have any length, but each line at most 1 MiB.',
  UNSUPPORTED_MEDIA_TYPE:
    'The Content-Type is not supported. Send JSON in UTF-8 as application/json, or the type in error.message.',
  VERSION_MISMATCH:
    'The record has changed since you read the version in expectedVersion or If-Match. error.version is the current version. Read the record again, apply your change to it, and send it with that version.',
  IDEMPOTENCY_KEY_REUSED:
    'The Idempotency-Key was already used for a different operation or body. Repeat a request unchanged, or send a new key.',
  RATE_LIMIT_EXCEEDED:
    'Too many requests per second, or too many at the same time. Wait for the number of seconds in the Retry-After header, then repeat the request.',
  INTERNAL_SERVER_ERROR:
    'The server failed to process the request. Repeating it is safe. If you report this, include error.requestId.',
  SERVICE_UNAVAILABLE:
    'The service is unavailable at the moment. error.reason shows why. Wait for the number of seconds in the Retry-After header, then repeat the request, except after HISTORY_DAMAGED.',
};

@Controller('errors')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class ErrorPagesController {
  @Get(':code')
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  @Header('X-Frame-Options', 'DENY')
  @Header('Referrer-Policy', 'no-referrer')
  explain(@Param('code') code: string): string {
    if (!Object.hasOwn(EXPLANATIONS, code)) {
      throw new RpcError('NOT_FOUND', `This error code does not exist. The codes are: ${CODES.join(', ')}.`);
    }
    const known = code as ErrorCode;
    const text = EXPLANATIONS[known].replaceAll('<', '&lt;');
    return `<!doctype html><html lang="en"><title>${known}</title><h1>${known}</h1><p>HTTP status ${ERROR_STATUS[known]}</p><p>${text}</p>${explainReasons(known)}</html>\n`;
  }
}

function explainReasons(code: ErrorCode): string {
  const items = Object.entries(explainedReasons(code)).map(
    ([reason, text]) => `<dt id="${reason}">${reason}</dt><dd>${text.replaceAll('<', '&lt;')}</dd>`,
  );
  return items.length > 0 ? `<h2>By error.reason</h2><dl>${items.join('')}</dl>` : '';
}

const CODES = Object.keys(ERROR_STATUS);
