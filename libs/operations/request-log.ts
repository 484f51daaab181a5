import { type LoggerService } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { type Keyring } from '#libs/event-store';
import { identifyRequest, storedRequestId } from '#libs/rpc';
import { currentTracer } from '#libs/tracing';
import { type RequestCounts } from './request-counts.js';

/**
 * Middleware that assigns an id to every request, counts it, and logs one line when it ends.
 *
 * @param keyring hashes ids that could contain personal data.
 * @param nameOf the name of a path; undefined for unknown paths, which could contain anything and are not logged.
 */
export function requestLog(
  logger: Pick<LoggerService, 'log'>,
  keyring: Keyring,
  nameOf: (path: string) => string | undefined,
  counts: RequestCounts,
) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const requestId = storedRequestId(identifyRequest(request, response), keyring);
    request.storedRequestId = requestId;
    const started = performance.now();
    const operation = () => named(nameOf, request.path);
    const tracer = currentTracer();
    const describe = () => ({
      name: operation()?.replace('/v1/', '') ?? 'unknown path',
      attributes: { requestId },
    });
    let trace: object = {};
    response.once('close', () => {
      const path = operation();
      const milliseconds = performance.now() - started;
      counts.add(path, response.writableFinished ? response.statusCode : undefined, milliseconds);
      // Load balancers check health every few seconds, so only failures are logged.
      if (path?.startsWith('/health/') && response.statusCode === 200) return;
      const { cutOff } = request;
      const aborted = cutOff === undefined ? 'client aborted the request' : 'request cut off';
      logger.log({
        message: response.writableFinished ? 'request' : aborted,
        reason: cutOff,
        requestId,
        method: request.method,
        path,
        // Without a response, it would be 200.
        status: response.headersSent ? response.statusCode : undefined,
        error: request.errorReason,
        durationMs: Math.round(milliseconds * 10) / 10,
        organizationId: request.caller?.organizationId,
        actorId: request.caller?.actor.id ?? undefined,
        ...trace,
      });
    });
    if (!tracer) return next();
    const { traceId, spanId } = tracer.request(request, response, describe, next);
    trace = { traceId, spanId };
  };
}

/** Ignores errors: a line without its path is better than none, and better than an uncaught error. */
function named(nameOf: (path: string) => string | undefined, path: string): string | undefined {
  try {
    return nameOf(path);
  } catch {
    return undefined;
  }
}
