export { HealthAccess, HealthController, Readiness } from './health.controller.js';
export { JsonLogger, LOG_LEVELS, type LogLevel } from './logger.js';
export { standardOutput } from './output.js';
export { requestLog } from './request-log.js';
