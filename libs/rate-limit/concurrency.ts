import { type CanActivate, type ExecutionContext, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { RpcError } from '#libs/rpc';

declare module 'node:http' {
  interface IncomingMessage {
    /** Among whose requests this one counts: an organization's, or until that is known an address's and a key's. */
    countsFor?: readonly string[] | undefined;
  }
}

/**
 * Requests that an instance works on at the same time. Of a caller twice the 200 that the event store appends at once:
 * more only wait. In all what three such callers have together, each of which may hold a body of 1 MiB.
 */
const MOST_AT_ONCE = { caller: 400, instance: 1_000 };

/** How often the event loop is asked how late it is, and from when on it is too late, in milliseconds. */
const LOOK_MS = 250;
const LATE_MS = 500;
/** Who has fewer requests under way is never refused for lateness: it is not they who make it. */
const SMALLEST_SHARE = 32;

/** `Bearer adv_` and the public part of a key. */
const CLAIMED_KEY = 20;

/** Seconds. What runs is done by then, or the server is no better off. */
const RETRY_AFTER = '1';

/**
 * Lets nobody have so many requests under way that others wait for them. Three bounds, told at once instead of
 * queueing: of one caller; of what the instance has left, half for whoever asks, so that few callers cannot take
 * it from all others; and while the event loop is late, a share that halves with every look and doubles again
 * after it, so that those are refused first who have the most. 0.4 µs of CPU a request.
 *
 * Health is asked by those who decide where requests go: it is always answered.
 */
@Injectable()
export class Concurrency implements OnModuleDestroy {
  /** Only tests change it. */
  most = MOST_AT_ONCE;
  private readonly running = new Map<string, number>();
  private total = 0;
  private share = Infinity;
  private lookedAt = performance.now();
  private late = 0;
  private readonly looking = setInterval(() => this.look(), LOOK_MS).unref();

  /** Middleware: counts a request for its sender until its response is closed and nothing works on it any more. */
  readonly admit = (request: Request, response: Response, next: NextFunction): void => {
    if (request.url.startsWith('/health/')) return next();
    // Behind a proxy that is not known, an address is everybody: of these one key must not take the places.
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
      // Who asks, goes away and asks again would else have any number of requests worked on.
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
   * From now on the request counts for its organization.
   *
   * @throws RpcError RATE_LIMIT_EXCEEDED or SERVICE_UNAVAILABLE
   */
  admitCaller(request: Request): void {
    const { caller, countsFor } = request;
    if (!caller || countsFor === undefined) return;
    const { organizationId } = caller;
    const count = this.running.get(organizationId) ?? 0;
    if (count >= this.most.caller) throw tooMany('Your organization', count);
    // It is among the total already.
    if (count >= this.share || count > this.most.instance - this.total) throw overloaded(count);
    this.leave(countsFor);
    this.running.set(organizationId, count + 1);
    request.countsFor = [organizationId];
  }

  /** Requests under way; how often the event loop was too late, and whether callers have less because of it now. */
  get load(): { requests: number; late: number; isShedding: boolean } {
    return { requests: this.total, late: this.late, isShedding: this.share !== Infinity };
  }

  onModuleDestroy(): void {
    clearInterval(this.looking);
  }

  private leave(names: readonly string[]): void {
    for (const name of names) {
      const count = this.running.get(name)! - 1;
      if (count === 0) this.running.delete(name);
      else this.running.set(name, count);
    }
  }

  private look(): void {
    const now = performance.now();
    const isLate = now - this.lookedAt > LOOK_MS + LATE_MS;
    this.lookedAt = now;
    if (isLate) this.late += 1;
    if (isLate) this.share = Math.max(SMALLEST_SHARE, Math.min(this.share, this.most.caller) / 2);
    else this.share = this.share >= this.most.caller ? Infinity : this.share * 2;
  }
}

/** After the guards that know the caller and what the caller may still send. */
@Injectable()
export class ConcurrencyGuard implements CanActivate {
  constructor(private readonly concurrency: Concurrency) {}

  canActivate(context: ExecutionContext): boolean {
    this.concurrency.admitCaller(context.switchToHttp().getRequest<Request>());
    return true;
  }
}

/** An address; of IPv6 the /64, because one client owns it. */
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
