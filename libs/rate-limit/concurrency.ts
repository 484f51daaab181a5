import { type CanActivate, type ExecutionContext, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { RpcError } from '#libs/rpc';

declare module 'node:http' {
  interface IncomingMessage {
    /** The callers for whom this request counts: its organization or, until that is known, its address and its key. */
    countsFor?: readonly string[] | undefined;
  }
}

/**
 * The maximum number of concurrent requests. A caller has twice the 200 commands of an append call, because more would only
 * wait. The total is that of three such callers. Each request may hold a body of 1 MiB.
 */
const MOST_AT_ONCE = { caller: 400, instance: 1_000 };

/** How often the delay of the event loop is checked, and from which delay on it counts as late. */
const CHECK_MS = 250;
const LATE_MS = 500;
/** Callers with fewer concurrent requests are never rejected because of a late event loop, which they do not cause. */
const SMALLEST_SHARE = 32;

/** Matches `Bearer adv_` and the public part of a key. */
const CLAIMED_KEY = 20;

/** In seconds. By then, running requests have ended, or the server is still overloaded. */
const RETRY_AFTER = '1';

/**
 * Limits concurrent requests, so that no caller delays the others. Requests beyond a limit are rejected immediately instead of
 * being queued. It costs 0.4 µs of CPU per request. There are three limits:
 *
 * - per caller
 * - half of the instance's free places for any caller, so that a few callers cannot occupy all of them
 * - while the event loop is late, a share per caller that halves with every check and doubles again afterwards, so that the
 *   callers with the most requests are rejected first
 *
 * Health checks are always answered, because load balancers depend on them.
 */
@Injectable()
export class Concurrency implements OnModuleDestroy {
  /** Changed only by tests. */
  most = MOST_AT_ONCE;
  private readonly running = new Map<string, number>();
  private total = 0;
  private share = Infinity;
  private checkedAt = performance.now();
  private late = 0;
  private readonly timer = setInterval(() => this.check(), CHECK_MS).unref();

  /** Middleware that counts a request for its caller until its response is closed and its work has ended. */
  readonly admit = (request: Request, response: Response, next: NextFunction): void => {
    if (request.url.startsWith('/health/')) return next();
    // Behind an unknown proxy, all clients share an address. A single key must not occupy its places.
    const address = networkOf(request.ip);
    const sender = `${address} ${request.headers.authorization?.slice(0, CLAIMED_KEY) ?? ''}`;
    const count = this.running.get(sender) ?? 0;
    if (count >= this.most.caller) return next(tooMany('Your address, with this API key,', count));
    const ofAddress = this.running.get(address) ?? 0;
    if (ofAddress >= this.most.instance - this.total) return next(overloaded(ofAddress));
    this.running.set(sender, count + 1);
    this.running.set(address, ofAddress + 1);
    this.total += 1;
    request.countsFor = [address, sender];
    const leave = () => {
      // Otherwise, a client that disconnects and repeats its request could cause unlimited work.
      if (request.isWorkedOn || request.countsFor === undefined) return;
      this.total -= 1;
      this.leave(request.countsFor);
      request.countsFor = undefined;
    };
    response.on('close', leave);
    request.onWorked = () => {
      if (response.destroyed) leave();
    };
    next();
  };

  /**
   * Counts the request for its organization from now on.
   *
   * @throws RpcError RATE_LIMIT_EXCEEDED or SERVICE_UNAVAILABLE
   */
  admitCaller(request: Request): void {
    const { caller, countsFor } = request;
    if (!caller || caller.isPublic || countsFor === undefined) return;
    const { organizationId } = caller;
    const count = this.running.get(organizationId) ?? 0;
    if (count >= this.most.caller) throw tooMany('Your organization', count);
    // The total already includes it.
    if (count >= this.share || count > this.most.instance - this.total) throw overloaded(count);
    this.leave(countsFor);
    this.running.set(organizationId, count + 1);
    request.countsFor = [organizationId];
  }

  /** The concurrent requests, how often the event loop was late, and whether callers have smaller limits because of it. */
  get load(): { requests: number; late: number; isShedding: boolean } {
    return { requests: this.total, late: this.late, isShedding: this.share !== Infinity };
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private leave(names: readonly string[]): void {
    for (const name of names) {
      const count = this.running.get(name)! - 1;
      if (count === 0) this.running.delete(name);
      else this.running.set(name, count);
    }
  }

  private check(): void {
    const now = performance.now();
    const isLate = now - this.checkedAt > CHECK_MS + LATE_MS;
    this.checkedAt = now;
    if (isLate) this.late += 1;
    if (isLate) this.share = Math.max(SMALLEST_SHARE, Math.min(this.share, this.most.caller) / 2);
    else this.share = this.share >= this.most.caller ? Infinity : this.share * 2;
  }
}

/** Runs after the guards that authenticate the caller and apply rate limits. */
@Injectable()
export class ConcurrencyGuard implements CanActivate {
  constructor(private readonly concurrency: Concurrency) {}

  canActivate(context: ExecutionContext): boolean {
    this.concurrency.admitCaller(context.switchToHttp().getRequest<Request>());
    return true;
  }
}

/** The address, or the /64 for IPv6, because one client owns all of it. */
export function networkOf(address = 'unknown'): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  // 2001:db8:0:0:1:: and 2001:db8::1 are in the same network.
  return `${address
    .split('::')[0]!
    .split(':')
    .slice(0, 4)
    .join(':')
    .replace(/(:0)+$/, '')}::/64`;
}

function tooMany(who: string, requests: number): RpcError {
  return new RpcError(
    'RATE_LIMIT_EXCEEDED',
    `${who} has ${requests} concurrent requests, which is the limit. Wait for their responses.`,
    { reason: 'CONCURRENCY', headers: { 'Retry-After': RETRY_AFTER } },
  );
}

function overloaded(requests: number): RpcError {
  return new RpcError(
    'SERVICE_UNAVAILABLE',
    `This instance is overloaded; ${requests} of its requests are yours. Try again in a second.`,
    { reason: 'OVERLOADED', headers: { 'Retry-After': RETRY_AFTER } },
  );
}
