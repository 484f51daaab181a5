import { type DynamicModule, Inject, Injectable, Logger, Module } from '@nestjs/common';
import { getStorageToken, ThrottlerModule, type ThrottlerStorage } from '@nestjs/throttler';
import { Concurrency } from './concurrency.js';
import { MemoryStorage } from './memory-storage.js';
import { DEFAULT_LIMIT, WINDOW } from './rate-limit.guard.js';
import { connectRedis } from './redis-connection.js';
import { ResilientStorage } from './resilient-storage.js';

/** The state of the rate limit, for health checks and metrics. */
@Injectable()
export class RateLimitStatus {
  constructor(@Inject(getStorageToken()) private readonly storage: ThrottlerStorage) {}

  /**
   * Where requests are counted: `memory` (no Redis is configured), `shared` (Redis), or `local` (in this instance, because
   * Redis is unavailable).
   */
  describe(): 'memory' | 'shared' | 'local' {
    return this.storage instanceof ResilientStorage ? this.storage.status : 'memory';
  }

  /** How often the connection to Redis was lost. */
  get fallbacks(): number {
    return this.storage instanceof ResilientStorage ? this.storage.fallbacks : 0;
  }
}

@Module({})
export class RateLimitModule {
  /**
   * Provides the dependencies of `RateLimitGuard` and `ConcurrencyGuard` to the whole application, which decides on the order
   * of its guards. Nest closes the storage with the application, after the last request.
   *
   * @param options.redisUrl if undefined, requests are counted in this process.
   */
  static forRoot({ redisUrl }: { redisUrl?: string }): DynamicModule {
    return {
      module: RateLimitModule,
      global: true,
      imports: [
        ThrottlerModule.forRootAsync({
          useFactory: async () => ({
            throttlers: [{ limit: DEFAULT_LIMIT, ttl: WINDOW }],
            storage: redisUrl
              ? new ResilientStorage(await connectRedis(redisUrl), new Logger('RateLimit'))
              : new MemoryStorage(),
          }),
        }),
      ],
      providers: [RateLimitStatus, Concurrency],
      exports: [RateLimitStatus, Concurrency],
    };
  }
}
