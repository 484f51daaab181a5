import { Inject, Injectable } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { PublicAddress } from '../../config/index.js';

/** Websites that may call the whole API from browsers. */
export const CORS_ORIGINS = Symbol('CORS origins');

/** Headers that scripts of other websites can read, in addition to those that every script can. */
const EXPOSED =
  'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit, RateLimit-Policy, Idempotent-Replayed, ETag, Preference-Applied';
const WARNING =
  '299 - "This request with a secret API key came from a web page, whose visitors can read the key. Use a publishable key."';

/** Which responses the scripts of other websites may read. */
@Injectable()
export class CrossOrigin {
  constructor(
    @Inject(CORS_ORIGINS) private readonly trusted: readonly string[],
    private readonly address: PublicAddress,
  ) {}

  isTrusted(origin: string): boolean {
    return this.trusted.includes(origin);
  }

  allow(origin: string, response: Response): void {
    response.set({
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Expose-Headers': EXPOSED,
      Vary: 'Origin',
    });
  }

  /** For a request without a publishable key. */
  answer({ headers: { origin, authorization } }: Request, response: Response): void {
    if (origin === undefined) return;
    if (this.isTrusted(origin)) this.allow(origin, response);
    else if (authorization !== undefined && origin !== new URL(this.address.url).origin)
      response.set('Warning', WARNING);
  }
}
