import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard } from '#libs/rate-limit';
import { ApiKeysTable } from './api-keys.projection.js';
import { Authenticator } from './authenticator.js';
import { CreateApiKeyHandler } from './create-api-key.js';
import { AuthenticationGuard, AuthorizationGuard } from './guards.js';
import { RevokeApiKeyHandler } from './revoke-api-key.js';

@Module({
  providers: [
    ApiKeysTable,
    Authenticator,
    CreateApiKeyHandler,
    RevokeApiKeyHandler,
    // In this order: who asks decides which budget counts, and the budget comes before the refusal.
    { provide: APP_GUARD, useClass: AuthenticationGuard },
    { provide: APP_GUARD, useClass: RateLimitGuard },
    { provide: APP_GUARD, useClass: AuthorizationGuard },
  ],
})
export class AuthModule {}
