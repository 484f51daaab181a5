export { logConsole } from './console.js';
export { DatabaseMonitor } from './database-monitor.js';
export { JsonLogger, LOG_LEVELS, type LogLevel } from './logger.js';
export { standardOutput } from './output.js';
export { RequestCounts } from './request-counts.js';
export { requestLog } from './request-log.js';
