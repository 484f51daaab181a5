import { APP_GUARD } from '@nestjs/core';
import { ReadYourWritesGuard } from '#libs/commands';
import { ProductModule } from '#libs/modules';
import { ConcurrencyGuard, RateLimitGuard } from '#libs/rate-limit';
import { replayableApiKeys } from './api-key-record.js';
import { ApiKeyUse } from './api-key-use.js';
import { apiKey } from './api-key.js';
import { ApiKeysTable } from './api-keys-table.js';
import { apiKeysProjection } from './api-keys.projection.js';
import { Authenticator } from './authenticator.js';
import { AuthenticationGuard, AuthorizationGuard } from './guards.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { OrganizationKeys } from './organization-keys.js';
import { CrossOrigin } from './publishable/cross-origin.js';
import { PreflightController } from './publishable/preflight.controller.js';
import { PublishableKeys, publishableKeys } from './publishable/publishable-keys.js';

@ProductModule({
  operations,
  services: {
    'api-key': 'Keys for the API, each with scopes.',
    'publishable-key': 'Keys for your website, which only sign petitions and submit forms.',
  },
  resources: [publishableKeys],
  controllers: [PreflightController],
  reasons,
  streams: [apiKey],
  projections: [apiKeysProjection],
  replayables: [replayableApiKeys],
  providers: [
    ApiKeysTable,
    ApiKeyUse,
    Authenticator,
    OrganizationKeys,
    PublishableKeys,
    CrossOrigin,
    RateLimitGuard,
    // The order matters: the caller decides which budget counts, and the budget is counted before a
    // rejection.
    { provide: APP_GUARD, useClass: AuthenticationGuard },
    { provide: APP_GUARD, useExisting: RateLimitGuard },
    { provide: APP_GUARD, useClass: ConcurrencyGuard },
    { provide: APP_GUARD, useClass: AuthorizationGuard },
    { provide: APP_GUARD, useClass: ReadYourWritesGuard },
  ],
  exports: [ApiKeysTable],
})
export class AuthModule {}
