import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ReadYourWritesGuard } from '#libs/commands';
import { ConcurrencyGuard, RateLimitGuard } from '#libs/rate-limit';
import { operationsModule } from '#libs/rpc';
import { ApiKeyUse } from './api-key-use.js';
import { ApiKeysTable } from './api-keys.projection.js';
import { Authenticator } from './authenticator.js';
import { AuthenticationGuard, AuthorizationGuard, ORGANIZATION_RATE_LIMIT } from './guards.js';
import { OrganizationKeys } from './organization-keys.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);

@Module({})
export class AuthModule {
  /** @param organizationRateLimit see `ORGANIZATION_RATE_LIMIT`. */
  static of(organizationRateLimit: number): DynamicModule {
    return {
      module: AuthModule,
      controllers,
      providers: [
        ...providers,
        ApiKeysTable,
        ApiKeyUse,
        Authenticator,
        OrganizationKeys,
        RateLimitGuard,
        { provide: ORGANIZATION_RATE_LIMIT, useValue: organizationRateLimit },
        // In this order: who asks decides which budget counts, and the budget comes before the refusal.
        { provide: APP_GUARD, useClass: AuthenticationGuard },
        { provide: APP_GUARD, useExisting: RateLimitGuard },
        { provide: APP_GUARD, useClass: ConcurrencyGuard },
        { provide: APP_GUARD, useClass: AuthorizationGuard },
        { provide: APP_GUARD, useClass: ReadYourWritesGuard },
      ],
    };
  }
}
