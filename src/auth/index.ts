export { apiKeysProjection } from './api-keys.projection.js';
export { AuthModule } from './auth.module.js';
export { CreateApiKey, newApiKey } from './create-api-key.js';
export { RevokeApiKey } from './revoke-api-key.js';
export { SCOPES } from './scopes.js';
