import { Controller, Get, Header, Param } from '@nestjs/common';
import { Documented } from './documented.js';
import { ERROR_REASONS, type ErrorCode, ERROR_STATUS, RpcError } from './errors.js';

/** What each code means and what to do: the page behind `error.docs`. */
export const EXPLANATIONS: Record<ErrorCode, string> = {
  BAD_REQUEST:
    'The input is malformed or invalid. error.issues names each field and what is wrong with it. Correct them and send the request again.',
  UNAUTHORIZED:
    'The request carries no API key that is good now. Send Authorization: Bearer <API_KEY> with a valid key. error.reason says what is wrong.',
  FORBIDDEN:
    'The API key is valid, but organizationId names another organization. Name the organization of your key (most operations also let you leave it out), or use a key of the other one.',
  INSUFFICIENT_PERMISSIONS:
    'The API key may not do this. Use one that may; error.message says what is missing.',
  NOT_FOUND:
    'There is no such record in your organization, or no such operation or version. Check the id and the address.',
  METHOD_NOT_ALLOWED: 'The operation exists, but takes another HTTP method: the Allow header names it.',
  CONFLICT:
    "The record's state, or another record, stands against the request. error.reason says what, for programs, and error.message what to do.",
  PAYLOAD_TOO_LARGE:
    'The request body is larger than 1 MiB. Send less at once. (Imports may have any length; a line of them 1 MiB.)',
  UNSUPPORTED_MEDIA_TYPE:
    'Send the body in the Content-Type that error.message names: JSON in UTF-8 as application/json, but for imports.',
  IDEMPOTENCY_KEY_REUSED:
    'The Idempotency-Key was used before, with another request. Send a new key for a new request, and the same key only to repeat one.',
  RATE_LIMIT_EXCEEDED:
    'More requests than may be sent, or more at once than may be under way. Wait as many seconds as the Retry-After header says. RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset tell how much is left.',
  INTERNAL_SERVER_ERROR:
    'Something failed on our side. Repeating the request is safe. Name error.requestId when you report it.',
  SERVICE_UNAVAILABLE:
    'The service cannot answer now; error.reason says why. Repeating the request in a moment is safe.',
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

/** The part of a code's page that says what each `error.reason` means. */
function explainReasons(code: ErrorCode): string {
  const reasons: { [code in ErrorCode]?: Record<string, string> } = ERROR_REASONS;
  const items = Object.entries(reasons[code] ?? {}).map(
    ([reason, text]) => `<dt id="${reason}">${reason}</dt><dd>${text.replaceAll('<', '&lt;')}</dd>`,
  );
  return items.length > 0 ? `<h2>By error.reason</h2><dl>${items.join('')}</dl>` : '';
}

const CODES = Object.keys(ERROR_STATUS);
