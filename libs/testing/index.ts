export { createTestDatabase, testServerUrl, type TestDatabase } from './database.js';
