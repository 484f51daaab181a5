import { Controller, Next, Options, Res } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { RateLimitGuard } from '#libs/rate-limit';
import { Documented, findOperation, scopeOf } from '#libs/rpc';
import { CrossOrigin } from './cross-origin.js';
import { PUBLISHABLE_SCOPES, PublishableKeys } from './publishable-keys.js';

/** Seconds for which browsers keep the answer. */
const KEPT_SECONDS = 600;
/** An origin is a DNS name, so a longer text is not an origin. */
const LONGEST_ORIGIN = 300;

/**
 * Answers browsers that ask whether a page may call an operation. They do not send the key yet. So the answer depends on
 * whether any key works on the page's website; the request itself is checked against its own key.
 */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class PreflightController {
  constructor(
    private readonly crossOrigin: CrossOrigin,
    private readonly keys: PublishableKeys,
    private readonly rateLimit: RateLimitGuard,
  ) {}

  @Options('v1/:operation')
  async answer(@Res() response: Response, @Next() next: NextFunction): Promise<void> {
    const request = response.req as Request<{ operation: string }>;
    const { origin, 'access-control-request-method': asked } = request.headers;
    const operation = findOperation(request.params.operation);
    if (!operation || origin === undefined || asked === undefined) return next();
    if (await this.isAllowed(origin, scopeOf(operation), response)) {
      this.crossOrigin.allow(origin, response);
      response.set({
        'Access-Control-Allow-Methods': operation.method,
        'Access-Control-Allow-Headers':
          'Authorization, Content-Type, Idempotency-Key, If-Match, Prefer, X-Request-Id',
        'Access-Control-Max-Age': String(KEPT_SECONDS),
      });
    }
    response.status(204).set('Vary', 'Origin').end();
  }

  private async isAllowed(origin: string, scope: string, response: Response): Promise<boolean> {
    if (this.crossOrigin.isTrusted(origin)) return true;
    if (!PUBLISHABLE_SCOPES.includes(scope) || origin.length > LONGEST_ORIGIN) return false;
    if (await this.keys.hasKeyFor(origin)) return true;
    // It cost a query, like an invented key.
    await this.rateLimit.countAddress(response.req, response);
    return false;
  }
}
