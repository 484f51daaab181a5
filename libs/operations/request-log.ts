import { type LoggerService } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { type Keyring } from '#libs/event-store';
import { identifyRequest, storedRequestId } from '#libs/rpc';

/**
 * Middleware: gives every request its id, and one log line when it is over.
 *
 * @param keyring hides ids that could hold personal data.
 * @param isKnown whether a path is one of ours: any other could hold anything, and is not logged.
 */
export function requestLog(
  logger: Pick<LoggerService, 'log'>,
  keyring: Keyring,
  isKnown: (path: string) => boolean,
) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const requestId = storedRequestId(identifyRequest(request, response), keyring);
    request.storedRequestId = requestId;
    const started = performance.now();
    response.once('close', () => {
      const { path } = request;
      // Asked every few seconds by every load balancer: only worth a line when something is wrong.
      if (path.startsWith('/health/') && response.statusCode === 200) return;
      logger.log({
        message: response.writableFinished ? 'request' : 'request aborted by the client',
        requestId,
        method: request.method,
        path: isKnown(path) ? path : undefined,
        status: response.statusCode,
        durationMs: Math.round((performance.now() - started) * 10) / 10,
        organizationId: request.caller?.organizationId,
        actorId: request.caller?.actor.id ?? undefined,
      });
    });
    next();
  };
}
