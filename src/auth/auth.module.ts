import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard } from '#libs/rate-limit';
import { operationsModule } from '#libs/rpc';
import { ApiKeyUse } from './api-key-use.js';
import { ApiKeysTable } from './api-keys.projection.js';
import { Authenticator } from './authenticator.js';
import { AuthenticationGuard, AuthorizationGuard } from './guards.js';
import * as operations from './operations.js';

const { controllers = [], providers = [] } = operationsModule(operations);

@Module({
  controllers,
  providers: [
    ...providers,
    ApiKeysTable,
    ApiKeyUse,
    Authenticator,
    // In this order: who asks decides which budget counts, and the budget comes before the refusal.
    { provide: APP_GUARD, useClass: AuthenticationGuard },
    { provide: APP_GUARD, useClass: RateLimitGuard },
    { provide: APP_GUARD, useClass: AuthorizationGuard },
  ],
})
export class AuthModule {}
