export { logConsole } from './console.js';
export { DatabaseWatch } from './database-watch.js';
export { HealthAccess, HealthController, Readiness } from './health.controller.js';
export { JsonLogger, LOG_LEVELS, type LogLevel } from './logger.js';
export { standardOutput } from './output.js';
export { ScrapedDatabase, METRICS, type Metric } from './metrics.js';
export { type MetricsServer, serveMetrics } from './metrics-server.js';
export { RequestCounts } from './request-counts.js';
export { requestLog } from './request-log.js';
