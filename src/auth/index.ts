export { API_KEYS_TABLE } from './api-keys.projection.js';
export { ApiKeysTable } from './api-keys-table.js';
export { AuthModule } from './auth.module.js';
export { CreateApiKey, newApiKey } from './create-api-key.js';
export { RevokeApiKey } from './revoke-api-key.js';
export { ORGANIZATION_RATE_LIMIT } from './guards.js';
export { RotateApiKey } from './rotate-api-key.js';
export { type ApiKeyRecord, replayableApiKeys } from './api-key-record.js';
export { apiKey } from './api-key.js';
