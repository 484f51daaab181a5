import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { RateLimitGuard, type RateLimitSubject } from '#libs/rate-limit';
import { mayBePublic, requireScope, RpcError, scopeNeededBy, UnknownOperationController } from '#libs/rpc';
import { ApiKeyUse } from './api-key-use.js';
import { Authenticator, NO_KEY, type Refusal } from './authenticator.js';
import { requestsPerSecond } from './delegation.js';

declare module 'node:http' {
  interface IncomingMessage {
    /** Why the request's key is not good; answered only after the rate limit has counted it. */
    refusal?: Refusal;
  }
}

/** Requests per second of all keys of an organization together, but those whose limit the operator gave. */
export const ORGANIZATION_RATE_LIMIT = Symbol('organization rate limit');

/**
 * Finds out who asks. Refuses nobody but who tries keys beyond the limit: requests without a good key count against
 * the rate limit too.
 */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly use: ApiKeyUse,
    private readonly rateLimit: RateLimitGuard,
    @Inject(ORGANIZATION_RATE_LIMIT) private readonly organizationLimit: number,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    if (!isApi(context)) {
      request.rateLimits = [];
      return true;
    }
    const response = context.switchToHttp().getResponse<Response>();
    // A key that anybody may have invented costs its sender first, and the database then.
    const beforeGuess = () => this.rateLimit.countAddress(request, response);
    const authentication = await this.authenticator.authenticate(request.headers.authorization, beforeGuess);
    if ('refusal' in authentication) {
      request.refusal = authentication.refusal;
      return true;
    }
    const { id, organizationId, lineId, scopes, rateLimit, byOperator } = authentication.key;
    this.use.note(organizationId, id);
    request.caller = { organizationId, actor: { type: 'api-key', id }, scopes };
    request.requireCaller = async () => {
      const again = await this.authenticator.authenticate(request.headers.authorization, beforeGuess);
      if ('refusal' in again) throw unauthorized(again.refusal);
    };
    const limit = requestsPerSecond(rateLimit);
    const limits: RateLimitSubject[] = [];
    // Of the line, not of the key: who rotates with an overlap would get one more limit each time. A key that replaced
    // none has its own id there, under which an instance of a version before this one counts it.
    const group = organizationId;
    if (limit !== Infinity) limits.push({ key: `key:${lineId}`, group, limit, reason: 'KEY_RATE' });
    if (!byOperator) {
      const key = `organization:${organizationId}`;
      limits.push({ key, group, limit: this.organizationLimit, reason: 'ORGANIZATION_RATE' });
    }
    request.rateLimits = limits;
    return true;
  }
}

/** Refuses who may not: runs after the rate limit. */
@Injectable()
export class AuthorizationGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const scope = scopeNeededBy(context.getHandler());
    if (scope === undefined) return true;
    const { caller, refusal = NO_KEY } = context.switchToHttp().getRequest<Request>();
    // Who shows a key is told if it is good no more, whatever it was shown for.
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

/** Health, documentation and the like are no API responses. */
function isApi(context: ExecutionContext): boolean {
  return (
    scopeNeededBy(context.getHandler()) !== undefined || context.getClass() === UnknownOperationController
  );
}
