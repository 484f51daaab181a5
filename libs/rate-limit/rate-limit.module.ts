import { type DynamicModule, Inject, Injectable, Logger, Module } from '@nestjs/common';
import { getStorageToken, ThrottlerModule, type ThrottlerStorage } from '@nestjs/throttler';
import { Concurrency } from './concurrency.js';
import { MemoryStorage } from './memory-storage.js';
import { DEFAULT_LIMIT, WINDOW } from './rate-limit.guard.js';
import { connectRedis } from './redis-connection.js';
import { ResilientStorage } from './resilient-storage.js';

/** What the health report tells of the rate limit. */
@Injectable()
export class RateLimitStatus {
  constructor(@Inject(getStorageToken()) private readonly storage: ThrottlerStorage) {}

  /**
   * Where requests are counted: `memory` as configured; in Redis, `shared` with all instances; or `local` to
   * this one, because Redis cannot be used.
   */
  describe(): 'memory' | 'shared' | 'local' {
    return this.storage instanceof ResilientStorage ? this.storage.status : 'memory';
  }

  /** How often Redis was lost so far. */
  get fallbacks(): number {
    return this.storage instanceof ResilientStorage ? this.storage.fallbacks : 0;
  }
}

@Module({})
export class RateLimitModule {
  /**
   * Provides what `RateLimitGuard` and `ConcurrencyGuard` need, to the whole application; the application decides where among its
   * guards it stands. Nest closes the storage with the application, after the last request.
   *
   * @param options.redisUrl without it requests are counted in this process
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
