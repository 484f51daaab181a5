import { Controller, Get, Param, Res } from '@nestjs/common';
import { type Response } from 'express';
import { documentOf, html, type Html, sendPage, stylesOf } from '#libs/pages';
import { errorExample } from './documentation.js';
import { Documented } from './documented.js';
import { type ErrorCode, ERROR_STATUS, explainedReasons, reasonsOf } from './error-codes.js';
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

const style = stylesOf(
  'main pre{overflow-x:auto;padding:var(--space-3);background:var(--sheet);font-size:var(--text-1)}',
)(null);

@Controller('errors')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class ErrorPagesController {
  @Get(':code')
  explain(@Param('code') code: string, @Res() response: Response): void {
    if (!Object.hasOwn(EXPLANATIONS, code)) {
      throw new RpcError('NOT_FOUND', `This error code does not exist. The codes are: ${CODES.join(', ')}.`);
    }
    const known = code as ErrorCode;
    const page = documentOf({ language: 'en', title: known, style, body: explanationOf(known) });
    sendPage(response, page);
  }
}

/** The cause, what to do, and an example. */
function explanationOf(code: ErrorCode): Html {
  const reasons = Object.entries(explainedReasons(code));
  const example = errorExample(code, reasonsOf(code)[0]).value;
  return html`<main class="narrow">
    <h1>${code}</h1>
    <p class="lead">HTTP status ${ERROR_STATUS[code]}</p>
    <p>${EXPLANATIONS[code]}</p>
    ${
      reasons.length > 0
        ? html`<h2>By error.reason</h2>
            <dl>${reasons.map(([reason, text]) => html`<dt id="${reason}"><strong>${reason}</strong></dt><dd>${text}</dd>`)}</dl>`
        : null
    }
    <h2>Example</h2>
    <pre>${JSON.stringify(example, null, 2)}</pre>
    <p><a href="/docs/reference/errors">All errors</a></p>
  </main>`;
}

const CODES = Object.keys(ERROR_STATUS);
