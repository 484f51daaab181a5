export { HealthAccess, HealthController } from './health.controller.js';
export { JsonLogger, LOG_LEVELS, type LogLevel } from './logger.js';
export { requestLog } from './request-log.js';
