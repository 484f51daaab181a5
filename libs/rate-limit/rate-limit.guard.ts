import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';
import { type Request, type Response } from 'express';
import { Tally } from '#libs/measures';
import { type ReasonOf, RpcError } from '#libs/rpc';
import { Refusals } from './refusals.js';
import { type StorageRecord, type Window, type WindowStorage } from './window-storage.js';

/** The budget that a request uses: a caller and its requests per second. */
export type RateLimitSubject = Window & { reason: ReasonOf<'RATE_LIMIT_EXCEEDED'> };

declare module 'node:http' {
  interface IncomingMessage {
    /**
     * Set by an earlier guard if the caller is known. All budgets must admit the request, and an empty list means no
     * limit. If undefined, the client's address is used.
     */
    rateLimits?: readonly RateLimitSubject[];
  }
}

/** Requests per second of a caller without its own limit. */
export const DEFAULT_LIMIT = 10;

/** The window of a limit, in milliseconds. */
export const WINDOW = 1_000;

const HEADERS = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
];

/** The number of requests that rate limits have allowed and rejected in this process. */
export const decisions = new Tally(['accepted', 'refused']);

/** The metadata key that `@SkipThrottle()` sets. The package does not export it. */
const SKIP = 'THROTTLER:SKIPdefault';

/**
 * Applies one budget per caller to all routes. Every limited response has the headers `RateLimit-Limit`,
 * `RateLimit-Remaining` and `RateLimit-Reset` (seconds), the same in the current draft's `RateLimit` and `RateLimit-Policy`, and a
 * rejection also `Retry-After` (seconds).
 * `@SkipThrottle()` exempts a route. `@Throttle()` has no effect, because budgets do not belong to routes.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  private readonly refusals = new Refusals();

  /**
   * Replaces the package's method, which looks up six decorators for every request. It takes 1.2 µs instead of 3.1 µs,
   * which saves a fiftieth of a core at 9,000 requests/s.
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.reflector.getAllAndOverride<boolean>(SKIP, [context.getHandler(), context.getClass()]))
      return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const limits = request.rateLimits ?? [await this.subjectByAddress(request)];
    const response = http.getResponse<Response>();
    if (limits.length > 0) await this.count(limits, response);
    // The caller has no limit, so the remaining budget of its address is meaningless.
    else if (request.caller) for (const header of HEADERS) response.removeHeader(header);
    return true;
  }

  /**
   * Counts a request, and sets response headers for the tightest limit.
   *
   * @throws RpcError RATE_LIMIT_EXCEEDED if one of the limits rejects the request, which then counts for none.
   */
  private async count(limits: readonly RateLimitSubject[], response: Response): Promise<void> {
    const records = await (this.storageService as WindowStorage).accept(limits, WINDOW);
    const [{ limit, reason }, { totalHits, timeToExpire, isBlocked, timeToBlockExpire }] = records
      .map((record, n): Counted => [limits[n]!, record])
      .reduce(tighter);
    const remaining = Math.max(0, limit - totalHits);
    response.setHeader('RateLimit-Limit', limit);
    response.setHeader('RateLimit-Remaining', remaining);
    response.setHeader('RateLimit-Reset', timeToExpire);
    // draft-ietf-httpapi-ratelimit-headers-10. The policy is named after the reason of the error.
    response.setHeader('RateLimit', `"${reason}";r=${remaining};t=${timeToExpire}`);
    response.setHeader('RateLimit-Policy', `"${reason}";q=${limit};w=${WINDOW / 1_000}`);
    decisions.add(isBlocked ? 'refused' : 'accepted');
    if (!isBlocked) return;

    const wait = Math.max(1, timeToBlockExpire);
    response.setHeader('Retry-After', wait);
    await this.refusals.pause(limits[0]!.key);
    throw new RpcError(
      'RATE_LIMIT_EXCEEDED',
      `${reason === 'ORGANIZATION_RATE' ? 'The API keys of your organization share a limit of' : 'The limit is'} ` +
        `${counted(limit, 'request')} per second. Try again in ${counted(wait, 'second')}.`,
      { reason },
    );
  }

  /**
   * Counts a request against its client's address now instead of in the guard, before work that costs more than a
   * rejection.
   *
   * @throws RpcError RATE_LIMIT_EXCEEDED
   */
  async countAddress(request: Request, response: Response): Promise<void> {
    await this.count([await this.subjectByAddress(request)], response);
    request.rateLimits = [];
  }

  /** Counts a request against further budgets of its handler. @throws RpcError RATE_LIMIT_EXCEEDED */
  async countAgainst(limits: readonly RateLimitSubject[], response: Response): Promise<void> {
    await this.count(limits, response);
  }

  /** The package's tracker treats a /64 of IPv6 as one address, because one client owns all of it. */
  private async subjectByAddress(request: Request): Promise<RateLimitSubject> {
    return { key: `ip:${await this.getTracker(request)}`, limit: DEFAULT_LIMIT, reason: 'ADDRESS_RATE' };
  }
}

type Counted = [RateLimitSubject, StorageRecord];

/** The limit that matters to the caller: the one that rejects longest or, if none rejects, has the fewest requests left. */
function tighter(one: Counted, other: Counted): Counted {
  const left = ([{ limit }, { totalHits }]: Counted) => limit - totalHits;
  const wait = ([, { timeToBlockExpire }]: Counted) => timeToBlockExpire;
  if (one[1].isBlocked || other[1].isBlocked) return wait(other) > wait(one) ? other : one;
  return left(other) < left(one) ? other : one;
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
