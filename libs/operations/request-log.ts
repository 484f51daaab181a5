import { type LoggerService } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { type Keyring } from '#libs/event-store';
import { identifyRequest, storedRequestId } from '#libs/rpc';
import { currentTracer } from '#libs/tracing';
import { type RequestCounts } from './request-counts.js';

/**
 * Middleware: gives every request its id, counts it, and writes one log line when it is over.
 *
 * @param keyring hides ids that could hold personal data.
 * @param nameOf what a path is called; undefined where it is not one of ours: it could hold anything, and is not logged.
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
      // Asked every few seconds by every load balancer: only worth a line when something is wrong.
      if (path?.startsWith('/health/') && response.statusCode === 200) return;
      const { cutOff } = request;
      const aborted = cutOff === undefined ? 'client aborted the request' : 'request cut off';
      logger.log({
        message: response.writableFinished ? 'request' : aborted,
        reason: cutOff,
        requestId,
        method: request.method,
        path,
        // Of what was not answered it would be 200.
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

/** Whatever somebody asks for: a line without its path is better than none, and than an error that nobody catches. */
function named(nameOf: (path: string) => string | undefined, path: string): string | undefined {
  try {
    return nameOf(path);
  } catch {
    return undefined;
  }
}
