import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { RateLimitGuard, type RateLimitSubject } from '#libs/rate-limit';
import { mayBePublic, requireScope, RpcError, scopeNeededBy, UnknownOperationController } from '#libs/rpc';
import { ApiKeyUse } from './api-key-use.js';
import { Authenticator, NO_KEY, type Refusal, UNKNOWN_KEY } from './authenticator.js';
import { requestsPerSecond } from './delegation.js';
import { CrossOrigin } from './publishable/cross-origin.js';
import { PUBLISHABLE_SCOPES, publishableKeyIn, PublishableKeys } from './publishable/publishable-keys.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** Why the request's key was rejected. Reported only after the rate limit has counted the request. */
    refusal?: Refusal;
  }
}

const WRONG_ORIGIN: Refusal = {
  reason: 'KEY_ORIGIN',
  message:
    'This publishable key does not work on this website, or the request has no Origin header. Add the origin of the ' +
    'website to the key: publishable-key.update-publishable-key.',
};

/** Requests per second of all keys of an organization together, except keys whose limit the operator set. */
export const ORGANIZATION_RATE_LIMIT = Symbol('organization rate limit');

/**
 * Authenticates the caller. Rejects only clients that try too many keys: requests without a valid key also
 * count against the rate limit.
 */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly use: ApiKeyUse,
    private readonly rateLimit: RateLimitGuard,
    private readonly publishable: PublishableKeys,
    private readonly crossOrigin: CrossOrigin,
    @Inject(ORGANIZATION_RATE_LIMIT) private readonly organizationLimit: number,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    if (!isApi(context)) {
      request.rateLimits = [];
      return true;
    }
    const response = context.switchToHttp().getResponse<Response>();
    const publishable = publishableKeyIn(request.headers.authorization);
    if (publishable !== undefined) {
      await this.admitPublic(publishable, request, response);
      return true;
    }
    this.crossOrigin.answer(request, response);
    // A key that the client may have invented is charged to the client before it costs a query.
    const beforeGuess = () => this.rateLimit.countAddress(request, response);
    const authentication = await this.authenticator.authenticate(request.headers.authorization, beforeGuess);
    if ('refusal' in authentication) {
      request.refusal = authentication.refusal;
      return true;
    }
    const { id, organizationId, lineId, scopes, rateLimit, byOperator } = authentication.key;
    this.use.record(organizationId, id);
    request.caller = { organizationId, actor: { type: 'api-key', id }, scopes };
    request.requireCaller = async () => {
      const again = await this.authenticator.authenticate(request.headers.authorization, beforeGuess);
      if ('refusal' in again) throw unauthorized(again.refusal);
    };
    const limit = requestsPerSecond(rateLimit);
    const limits: RateLimitSubject[] = [];
    // The limit belongs to the line: otherwise each rotation with an overlap would add another limit. A key
    // without a predecessor has its own id as line id, under which instances of earlier versions count it.
    const group = organizationId;
    if (limit !== Infinity) limits.push({ key: `key:${lineId}`, group, limit, reason: 'KEY_RATE' });
    if (!byOperator) {
      const key = `organization:${organizationId}`;
      limits.push({ key, group, limit: this.organizationLimit, reason: 'ORGANIZATION_RATE' });
    }
    request.rateLimits = limits;
    return true;
  }

  /** Without limits of its own: visitors share the key, so each counts for their address, and no one for the organization. */
  private async admitPublic(key: string, request: Request, response: Response): Promise<void> {
    const found = await this.publishable.find(key);
    const { origin } = request.headers;
    if (!found) request.refusal = UNKNOWN_KEY;
    // Browsers always send it, so programs without a browser must at least send one.
    else if (origin === undefined || !found.origins.includes(origin)) request.refusal = WRONG_ORIGIN;
    else {
      this.crossOrigin.allow(origin, response);
      const actor = { type: 'api-key', id: found.id } as const;
      const { organizationId } = found;
      request.caller = { organizationId, actor, scopes: PUBLISHABLE_SCOPES, isPublic: true };
    }
  }
}

/** Rejects callers without permission. Runs after the rate limit. */
@Injectable()
export class AuthorizationGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const scope = scopeNeededBy(context.getHandler());
    if (scope === undefined) return true;
    const { caller, refusal = NO_KEY } = context.switchToHttp().getRequest<Request>();
    // If a request has a key, an invalid key is reported, even where none is needed.
    if (mayBePublic(context.getHandler()) && (caller || refusal === NO_KEY)) return true;
    if (!caller) {
      throw unauthorized(refusal);
    }
    requireScope(caller.scopes, scope);
    return true;
  }
}

function unauthorized({ reason, message }: Refusal): RpcError {
  return new RpcError('UNAUTHORIZED', message, { reason, headers: { 'WWW-Authenticate': 'Bearer' } });
}

/** Health checks, documentation and similar routes are not API responses. */
function isApi(context: ExecutionContext): boolean {
  return (
    scopeNeededBy(context.getHandler()) !== undefined || context.getClass() === UnknownOperationController
  );
}
