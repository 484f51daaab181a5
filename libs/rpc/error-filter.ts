import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { type Request, type Response } from 'express';
import {
  describeError,
  isTimedOut,
  isTransient,
  TooManyWaiting,
  type IncidentLog,
  incidentOf,
} from '#libs/database';
import { DamagedEvent, NewerEvent } from '#libs/event-store';
import { ClientGone } from './body.js';
import { isDeclared, undeclaredErrors } from './declared-errors.js';
import {
  ERROR_CODES,
  type ErrorCode,
  ERROR_STATUS,
  errorAnswers,
  isReasoned,
  type ReasonedCode,
} from './error-codes.js';
import { type ErrorBody, RpcError } from './errors.js';
import { identifyRequest } from './request.js';

/**
 * Not logged as errors: a single client could fill the log with them, or they are not failures. The request log
 * has them.
 */
const UNLOGGED: readonly unknown[] = ['OVERLOADED', 'TIMED_OUT', 'SHUTTING_DOWN'];

/** Logged once per incident, not per request. */
const OF_THE_DATABASE: readonly unknown[] = ['DATABASE_UNREACHABLE', 'DATABASE_TAKES_NO_WRITES'];

/** Converts all thrown errors to the error body of the specification. It reveals nothing internal. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  constructor(
    private readonly docsUrl: (code: ErrorCode, request: Request) => string,
    private readonly incidents: Pick<IncidentLog, 'refuse'>,
    /** Whether undeclared errors of an operation become a 500. */
    private readonly failsUndeclared: boolean,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    // The response was sent at the deadline, so no one waits for the result.
    if (request.isGivenUp) return;
    if (error instanceof ClientGone) {
      response.destroy();
      return;
    }
    const requestId = identifyRequest(request, response);
    const meant = toRpcError(error);
    const answer = isDeclared(request, meant) ? meant : this.answerUndeclared(meant, request);
    const { reason } = answer.details;
    request.errorReason = reason ?? answer.code;
    errorAnswers.add(request.errorReason);
    const cause = error instanceof RpcError ? error.cause : error;
    if (OF_THE_DATABASE.includes(reason)) {
      // A readiness check is not a rejected request.
      if (!request.path.startsWith('/health/')) this.incidents.refuse(cause, answer.message);
    } else if (answer.status >= 500 && !UNLOGGED.includes(reason)) this.log(answer, cause ?? error, request);
    if (response.headersSent) {
      // The response has begun. Only a closed connection tells the client that it is incomplete.
      request.cutOff = 'the request failed after part of the response was sent';
      response.destroy();
      return;
    }
    const page = request.errorPage?.(answer.status);
    if (page) {
      response
        .status(answer.status)
        .set({ ...answer.details.headers, ...page.headers })
        .end(page.body);
      return;
    }
    response
      .status(answer.status)
      .set(answer.details.headers ?? {})
      // Overrides the type that the handler has set.
      .type('json')
      .json(errorBody(answer, requestId, this.docsUrl(answer.code, request)));
  }

  /** Logged once. The declaration is wrong and the response is right, so production returns it. */
  private answerUndeclared(answer: RpcError, { method, path, storedRequestId }: Request): RpcError {
    const { code, details } = answer;
    const what = [method, path, code, details.reason].filter(Boolean).join(' ');
    if (!undeclaredErrors.has(what)) {
      undeclaredErrors.add(what);
      this.logger.error({
        message:
          'undeclared error: the API documentation of this operation does not list it. Please report this bug',
        error: what,
        requestId: storedRequestId,
      });
    }
    if (!this.failsUndeclared) return answer;
    return new RpcError(
      'INTERNAL_SERVER_ERROR',
      `${what} is an error that the operation does not declare: see "Add an operation" in docs/internals/extending.md.`,
    );
  }

  private log(answer: RpcError, error: unknown, request: Request): void {
    const reason = describeError(error);
    // Without the message: `reason` contains it without personal data.
    const frames = error instanceof Error ? error.stack?.match(/^ +at .*$/gm) : undefined;
    const stack = frames?.slice(0, 8).join('\n');
    this.logger.error({
      message: 'request failed',
      code: answer.code,
      requestId: request.storedRequestId,
      reason,
      stack,
    });
  }
}

function errorBody({ code, message, details }: RpcError, requestId: string, docs: string): ErrorBody {
  const { reason, fields, issues } = details;
  return {
    error: {
      code,
      ...(reason ? { reason } : {}),
      message,
      docs: reason ? `${docs}#${reason}` : docs,
      requestId,
      ...fields,
      ...(issues ? { issues } : {}),
    },
  };
}

function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof HttpException) return new RpcError(codeOf(error.getStatus()), error.message);
  if (isTimedOut(error)) {
    return new RpcError(
      'SERVICE_UNAVAILABLE',
      'The database took too long, so the query was cancelled. Narrow the filters: a shorter period, a longer `q`, one list.',
      { reason: 'TIMED_OUT', headers: { 'Retry-After': '5' } },
    );
  }
  if (error instanceof NewerEvent) {
    return new RpcError(
      'SERVICE_UNAVAILABLE',
      'A newer version of the program changed the record in a way that this instance cannot read. Retry: another instance may respond.',
      { reason: 'NEWER_VERSION', headers: { 'Retry-After': '1' } },
      { cause: error },
    );
  }
  if (error instanceof DamagedEvent) {
    return new RpcError(
      'SERVICE_UNAVAILABLE',
      'The stored history of this record was altered, so it cannot be used. Contact the operator of this service.',
      { reason: 'HISTORY_DAMAGED' },
      { cause: error },
    );
  }
  if (isTransient(error)) {
    return new RpcError(
      'SERVICE_UNAVAILABLE',
      'The database was blocked for too long, so nothing was changed. Try again in a moment.',
      { reason: 'TIMED_OUT', headers: { 'Retry-After': '1' } },
    );
  }
  const problem = incidentOf(error);
  if (problem) {
    const { publicly = 'The database cannot be reached.', kind } = problem;
    return new RpcError('SERVICE_UNAVAILABLE', `${publicly} Try again in a moment.`, {
      reason: kind === 'takes no writes' ? 'DATABASE_TAKES_NO_WRITES' : 'DATABASE_UNREACHABLE',
      headers: { 'Retry-After': '1' },
    });
  }
  if (error instanceof TooManyWaiting) {
    return new RpcError(
      'SERVICE_UNAVAILABLE',
      'Your organization runs too many lists and searches at the same time. Wait for their responses before you send more.',
      { reason: 'OVERLOADED', headers: { 'Retry-After': '1' } },
    );
  }
  return new RpcError(
    'INTERNAL_SERVER_ERROR',
    'The server failed to process the request. If you report this, include the requestId.',
  );
}

/** For errors of Nest and Express, whose statuses have no reasons of ours. */
function codeOf(status: number): Exclude<ErrorCode, ReasonedCode> {
  const codes = ERROR_CODES.filter(isPlain);
  return (
    codes.find((code) => ERROR_STATUS[code] === status) ??
    (status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR')
  );
}

function isPlain(code: ErrorCode): code is Exclude<ErrorCode, ReasonedCode> {
  return !isReasoned(code);
}
