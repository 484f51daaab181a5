export { API_KEYS_TABLE, apiKeysProjection } from './api-keys.projection.js';
export { AuthModule } from './auth.module.js';
export { CreateApiKey, newApiKey } from './create-api-key.js';
export { RevokeApiKey } from './revoke-api-key.js';
export { LONGEST_OVERLAP_SECONDS, RotateApiKey } from './rotate-api-key.js';
export { SCOPES } from './scopes.js';
export { replayableApiKeys } from './api-key-record.js';
export { apiKey } from './api-key.js';
